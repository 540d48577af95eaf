use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use super::error::{AcpBuildError, AcpStartError};
use super::redact::Redactor;

/// Words that mark a variable's name as that of a credential.
const CREDENTIAL_WORDS: [&str; 5] = ["KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL"];

/// What a program needs to start at all, in upper case.
const ESSENTIAL: [&str; 34] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "LANG",
    "LANGUAGE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
];

/// Which of this process's environment variables a child program gets.
///
/// Variables that are set for the child explicitly always reach it, whatever their names.
///
/// ```
/// use subagent::acp::EnvPolicy;
///
/// // All but what looks like a credential, and this one credential.
/// let usual = EnvPolicy::scrubbed().pass("ANTHROPIC_API_KEY");
/// // Only what a program needs to start, and one more variable.
/// let strict = EnvPolicy::allow_list(["CODEX_HOME"]);
/// # let _ = (usual, strict);
/// ```
#[derive(Debug, Clone, Default)]
pub struct EnvPolicy {
    base: Base,
    passed: Vec<OsString>,
    listed: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Base {
    #[default]
    Scrubbed,
    Listed,
    Inherited,
}

impl EnvPolicy {
    /// Everything but the variables whose names hold `KEY`, `SECRET`, `TOKEN`, `PASSWORD` or `CREDENTIAL` in
    /// any case. This is the default.
    #[must_use]
    pub fn scrubbed() -> Self {
        Self::default()
    }

    /// Only these variables, where they are set, and what a program needs to start: the search path, home and
    /// temporary directories, language, proxies and certificates.
    pub fn allow_list<N: Into<OsString>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { base: Base::Listed, listed: names.into_iter().map(Into::into).collect(), passed: Vec::new() }
    }

    /// Everything, credentials included.
    #[must_use]
    pub fn inherit_all() -> Self {
        Self { base: Base::Inherited, ..Self::default() }
    }

    /// Also this variable, even if it looks like a credential. A child whose passed variable is not set here is
    /// refused before it is started.
    #[must_use]
    pub fn pass(mut self, name: impl Into<OsString>) -> Self {
        self.passed.push(name.into());
        self
    }

    fn admits(&self, name: &OsStr) -> bool {
        if self.passed.iter().any(|passed| passed == name) {
            return true;
        }
        match self.base {
            Base::Scrubbed => !looks_like_credential(name),
            Base::Listed => is_essential(name) || self.listed.iter().any(|listed| listed == name),
            Base::Inherited => true,
        }
    }
}

/// The policy and the variables that are set explicitly.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    pub(crate) policy: EnvPolicy,
    pub(crate) set: BTreeMap<OsString, OsString>,
}

/// Names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("policy", &self.policy)
            .field("set", &self.set.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The variables of one child.
pub(crate) struct ChildEnvironment {
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// Names of what the policy held back.
    pub(crate) withheld: Vec<String>,
    /// Hides the values of credentials in what is quoted from the child.
    pub(crate) redactor: Redactor,
}

impl Environment {
    /// Refuses variables that no program can be given.
    pub(crate) fn check(&self) -> Result<(), AcpBuildError> {
        match self.set.iter().find(|(name, value)| !is_valid(name, value)) {
            Some((name, _)) => {
                Err(AcpBuildError::InvalidVariable { name: name.to_string_lossy().into_owned() })
            }
            None => Ok(()),
        }
    }

    /// What a child gets of `parent`.
    pub(crate) fn resolve(
        &self,
        parent: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<ChildEnvironment, AcpStartError> {
        let mut variables = BTreeMap::new();
        let mut withheld = Vec::new();
        let mut secrets = Vec::new();
        for (name, value) in parent {
            if looks_like_credential(&name) {
                secrets.push(value.to_string_lossy().into_owned());
            } else if let Some(password) = url_user_info(&value.to_string_lossy()) {
                secrets.push(password.to_owned());
            }
            if self.policy.admits(&name) {
                variables.insert(name, value);
            } else {
                withheld.push(name.to_string_lossy().into_owned());
            }
        }
        if let Some(name) = self.policy.passed.iter().find(|name| !variables.contains_key(*name)) {
            return Err(AcpStartError::PassedVariableNotSet { name: name.to_string_lossy().into_owned() });
        }
        for (name, value) in &self.set {
            if looks_like_credential(name) {
                secrets.push(value.to_string_lossy().into_owned());
            }
            variables.insert(name.clone(), value.clone());
        }
        withheld.retain(|name| !self.set.contains_key(OsStr::new(name)));
        withheld.sort();
        Ok(ChildEnvironment { variables, withheld, redactor: Redactor::new(secrets) })
    }
}

pub(crate) fn looks_like_credential(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

fn is_essential(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    // A mark tells an outer owner what runs below it; see `process::group`.
    name.starts_with("LC_") || name.starts_with("SUBAGENT_CHILD_") || ESSENTIAL.contains(&name.as_str())
}

/// `user:password` of a URL, which proxies' variables may carry.
fn url_user_info(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (user_info, _) = rest.split('/').next()?.rsplit_once('@')?;
    Some(user_info)
}

fn is_valid(name: &OsStr, value: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    !name.is_empty() && !name.contains(&b'=') && !name.contains(&0) && !value.as_encoded_bytes().contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> Vec<(OsString, OsString)> {
        [
            ("PATH", "/bin"),
            ("EDITOR", "vi"),
            ("OPENAI_API_KEY", "sk-parent-marker"),
            ("my_password", "hunter2-marker"),
            ("https_proxy", "http://user:pass-marker@proxy:3128/"),
            ("LC_ALL", "C"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into()
    }

    fn names(environment: &Environment) -> Vec<String> {
        let child = environment.resolve(parent()).unwrap();
        child.variables.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn scrubbing_drops_credentials_and_keeps_the_rest() {
        assert_eq!(names(&Environment::default()), ["EDITOR", "LC_ALL", "PATH", "https_proxy"]);
    }

    #[test]
    fn what_is_set_explicitly_reaches_the_child_even_if_it_looks_like_a_credential() {
        let mut environment = Environment { policy: EnvPolicy::allow_list(["EDITOR"]), ..Default::default() };
        environment.set.insert("GEMINI_API_KEY".into(), "explicit-marker".into());
        let child = environment.resolve(parent()).unwrap();
        assert_eq!(child.variables[OsStr::new("GEMINI_API_KEY")], "explicit-marker");
        assert!(!format!("{environment:?}").contains("explicit-marker"));
    }

    #[test]
    fn an_allow_list_carries_what_a_program_needs_to_start() {
        let environment = Environment { policy: EnvPolicy::allow_list(["EDITOR"]), ..Default::default() };
        assert_eq!(names(&environment), ["EDITOR", "LC_ALL", "PATH", "https_proxy"]);
        let bare = Environment { policy: EnvPolicy::allow_list([""; 0]), ..Default::default() };
        assert_eq!(names(&bare), ["LC_ALL", "PATH", "https_proxy"]);
    }

    #[test]
    fn inheriting_all_keeps_credentials() {
        let environment = Environment { policy: EnvPolicy::inherit_all(), ..Default::default() };
        assert_eq!(names(&environment).len(), parent().len());
    }

    #[test]
    fn a_passed_credential_reaches_the_child_and_one_that_is_not_set_is_refused() {
        let policy = EnvPolicy::scrubbed().pass("OPENAI_API_KEY");
        let child = Environment { policy, ..Default::default() }.resolve(parent()).unwrap();
        assert_eq!(child.variables[OsStr::new("OPENAI_API_KEY")], "sk-parent-marker");
        assert_eq!(child.withheld, ["my_password"]);
        let policy = EnvPolicy::scrubbed().pass("GEMINI_API_KEY");
        let refused = Environment { policy, ..Default::default() }.resolve(parent()).err().unwrap();
        assert!(refused.to_string().contains("GEMINI_API_KEY"));
    }

    #[test]
    fn a_variable_that_no_program_can_be_given_is_refused_by_name() {
        for (name, value) in [("A=B", "x"), ("", "x"), ("A", "secret\0marker")] {
            let mut environment = Environment::default();
            environment.set.insert(name.into(), value.into());
            let refused = environment.check().unwrap_err();
            assert!(!refused.to_string().contains("marker"));
        }
    }

    #[test]
    fn values_of_credentials_are_hidden_in_what_is_quoted() {
        let mut environment = Environment { policy: EnvPolicy::inherit_all(), ..Default::default() };
        environment.set.insert("X_TOKEN".into(), "explicit-marker".into());
        let redactor = environment.resolve(parent()).unwrap().redactor;
        let quoted = redactor.hide("sk-parent-marker hunter2-marker explicit-marker user:pass-marker");
        assert!(!quoted.contains("marker"), "{quoted}");
    }
}
