/// In an `impl Run`: the run can be steered. Does not compile unless the type implements
/// [`Steerable`](crate::Steerable).
#[macro_export]
macro_rules! steerable {
    () => {
        type Steer = $crate::Present;

        async fn steer_with(
            &self,
            content: ::std::vec::Vec<$crate::ContentBlock>,
            _proof: $crate::Present,
        ) -> ::std::result::Result<(), $crate::SteerError> {
            $crate::KeepsSteerable::send_message_boxed(self, content).await
        }
    };
}

/// In an `impl Run`: the run cannot be steered. Then `impl Steerable` for the type does not compile.
#[macro_export]
macro_rules! not_steerable {
    () => {
        type Steer = $crate::Absent;

        async fn steer_with(
            &self,
            _content: ::std::vec::Vec<$crate::ContentBlock>,
            proof: $crate::Absent,
        ) -> ::std::result::Result<(), $crate::SteerError> {
            match proof {}
        }
    };
}

/// In an `impl Run`: the run can be resumed. Does not compile unless the type implements
/// [`Resumable`](crate::Resumable).
#[macro_export]
macro_rules! resumable {
    () => {
        type Resume = $crate::Present;

        async fn resume_with(
            &self,
            content: ::std::vec::Vec<$crate::ContentBlock>,
            settlement: $crate::Settlement,
            _proof: $crate::Present,
        ) -> ::std::result::Result<(), $crate::ResumeError> {
            $crate::KeepsResumable::resume_boxed(self, content, settlement).await
        }
    };
}

/// In an `impl Run`: the run cannot be resumed. Then `impl Resumable` for the type does not compile.
#[macro_export]
macro_rules! not_resumable {
    () => {
        type Resume = $crate::Absent;

        async fn resume_with(
            &self,
            _content: ::std::vec::Vec<$crate::ContentBlock>,
            _settlement: $crate::Settlement,
            proof: $crate::Absent,
        ) -> ::std::result::Result<(), $crate::ResumeError> {
            match proof {}
        }
    };
}
