/// What the builders of in-process providers have in common. One macro, since a shared type would have to show in
/// the providers' names.
macro_rules! builder_methods {
    ($builder:ident, $provider:ident) => {
        impl<S: Presence> $builder<S> {
            /// Adds a model that children can run on, under its own name: one that a request may choose or a parent
            /// may have.
            pub fn model(mut self, model: impl Model) -> Self {
                self.settings.models.add(std::sync::Arc::new(model));
                self
            }

            /// Adds a model, and uses it for children for whom neither request nor parent names one.
            pub fn default_model(mut self, model: impl Model) -> Self {
                self.settings.models.set_default(std::sync::Arc::new(model));
                self
            }

            /// Says how to find a model by name that was not added.
            pub fn resolve_models(
                mut self,
                resolve: impl Fn(&str) -> Option<std::sync::Arc<dyn Model>> + Send + Sync + 'static,
            ) -> Self {
                self.settings.models.resolve_with(resolve);
                self
            }

            /// Offers children these tools instead of their parent's. Filters still bind: those of the request and
            /// those that bind the parent.
            pub fn tools(mut self, tools: crate::agent::ToolSet) -> Self {
                self.settings.tools = Some(tools);
                self
            }

            /// Sets the system prompt of children that are given no persona.
            pub fn system_prompt(mut self, prompt: impl Into<std::sync::Arc<str>>) -> Self {
                self.settings.system_prompt = Some(prompt.into());
                self
            }

            /// Sets what bounds a child's turns. A request can only narrow it.
            pub fn limits(mut self, limits: crate::agent::Limits) -> Self {
                self.settings.limits = limits;
                self
            }

            /// Checks structured output against the whole schema of the request, beside its type. Requests whose
            /// schema is a JSON value need it.
            #[cfg(feature = "jsonschema")]
            pub fn validate_schemas(mut self) -> Self {
                self.settings.validate_schemas = true;
                self
            }

            /// Sets how deep the tree of delegations may grow where neither the request nor an agent above says; 3 by
            /// default.
            pub fn default_max_depth(mut self, depth: u32) -> Self {
                self.settings.max_depth = depth;
                self
            }

            /// Makes runs that cannot be steered.
            pub fn without_steering(self) -> $builder<crate::run::Absent> {
                $builder { settings: self.settings, steering: PhantomData }
            }

            /// Makes the provider.
            #[must_use]
            pub fn build(self) -> $provider<S> {
                $provider { settings: self.settings, steering: PhantomData }
            }
        }

        impl<S> fmt::Debug for $builder<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($builder)).field("settings", &self.settings).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use builder_methods;
