/// Says which start-time capabilities a provider supports, for the compiler and for checks at run time at once.
///
/// A list, which may be empty:
///
/// ```
/// use subagent::{DepthLimit, OutputSchema, Persona};
///
/// struct Mine;
/// subagent::supports!(Mine: OutputSchema, DepthLimit, Persona);
/// struct Simple;
/// subagent::supports!(Simple:);
/// ```
///
/// An entry that holds on a condition, which is a type that implements [`Presence`](crate::Presence):
///
/// ```
/// use subagent::{DepthLimit, Presence, ToolFilter};
///
/// pub trait Brain: 'static { type Tools: Presence; }
/// struct Mine<B>(B);
/// subagent::supports!([B: Brain] Mine<B>: DepthLimit, ToolFilter if B::Tools);
/// ```
///
/// A wrapper that supports what the provider inside it does, or what both inside it do:
///
/// ```
/// struct Metered<P> { inner: P }
/// subagent::supports!(Metered<P> => P);
///
/// struct Either<A, B>(A, B);
/// subagent::supports!(Either<A, B> => A + B);
/// ```
///
/// A wrapper with further parameters names them: `supports!([F: Send] Checked<P, F> => P)`. A wrapper that adds a
/// capability lists its capabilities one by one.
///
/// [`OutputSchema`](crate::OutputSchema) in a list stands for every output type.
#[macro_export]
macro_rules! supports {
    ([$($generics:tt)*] $wrapper:ty => $inner:ident) => {
        #[diagnostic::do_not_recommend]
        impl<$inner, $($generics)*, SomeCapability> $crate::Supports<SomeCapability> for $wrapper
        where $inner: $crate::Supports<SomeCapability> {}
        #[diagnostic::do_not_recommend]
        impl<$inner: $crate::Declares, $($generics)*> $crate::Declares for $wrapper {
            const CAPABILITIES: $crate::Capabilities = <$inner as $crate::Declares>::CAPABILITIES;
        }
    };
    ([$($generics:tt)*] $provider:ty: $($($capability:ident)::+ $(if $condition:ty)?),* $(,)?) => {
        $crate::__supports_each!([$($generics)*] $provider: $($($capability)::+ $(if $condition)?),*);
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $crate::Declares for $provider {
            const CAPABILITIES: $crate::Capabilities = $crate::Capabilities::list(const { &[
                $($crate::CapabilityEntry::of::<$($capability)::+>(
                    true $(&& <$condition as $crate::Presence>::PRESENT)?
                )),*
            ] });
        }
    };
    ($wrapper:ty => $inner:ident) => {
        #[diagnostic::do_not_recommend]
        impl<$inner, SomeCapability> $crate::Supports<SomeCapability> for $wrapper
        where $inner: $crate::Supports<SomeCapability> {}
        #[diagnostic::do_not_recommend]
        impl<$inner: $crate::Declares> $crate::Declares for $wrapper {
            const CAPABILITIES: $crate::Capabilities = <$inner as $crate::Declares>::CAPABILITIES;
        }
    };
    ($wrapper:ty => $first:ident + $second:ident) => {
        #[diagnostic::do_not_recommend]
        impl<$first, $second, SomeCapability> $crate::Supports<SomeCapability> for $wrapper
        where $first: $crate::Supports<SomeCapability>, $second: $crate::Supports<SomeCapability> {}
        #[diagnostic::do_not_recommend]
        impl<$first: $crate::Declares, $second: $crate::Declares> $crate::Declares for $wrapper {
            const CAPABILITIES: $crate::Capabilities = $crate::Capabilities::both(
                const { &<$first as $crate::Declares>::CAPABILITIES },
                const { &<$second as $crate::Declares>::CAPABILITIES },
            );
        }
    };
    ($provider:ty: $($($capability:ident)::+ $(if $condition:ty)?),* $(,)?) => {
        $crate::supports!([] $provider: $($($capability)::+ $(if $condition)?),*);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __supports_each {
    ($generics:tt $provider:ty: $($($capability:ident)::+ $(if $condition:ty)?),*) => {
        $($crate::__supports_one!($generics $provider, $($capability)::+ $(, $condition)?);)*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __supports_one {
    ([$($generics:tt)*] $provider:ty, $capability:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $crate::Supports<$capability> for $provider {}
    };
    ([$($generics:tt)*] $provider:ty, $capability:ty, $condition:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $crate::Supports<$capability> for $provider where $condition: $crate::IsPresent {}
    };
}
