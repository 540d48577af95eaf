//! Providers that go wrong with messages.

use subagent::testing::conformance::Promise;
use subagent::{ContentBlock, SteerError};

use super::assert_breaks;
use crate::handmade::{Inbox, Quirk};

const BOTH: [Promise; 2] = [Promise::AcceptedMessagesAreSeenInOrder, Promise::UndeliveredMessagesAreListed];

/// It accepts messages and throws them away.
struct NeverDelivers;

impl Quirk for NeverDelivers {
    fn accept(_inbox: &Inbox, _message: Vec<ContentBlock>) -> Result<(), SteerError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_accepted_and_never_delivered() {
    assert_breaks::<NeverDelivers>(&BOTH).await;
}

/// It lets the latest message go first.
struct DeliversOutOfOrder;

impl Quirk for DeliversOutOfOrder {
    fn accept(inbox: &Inbox, message: Vec<ContentBlock>) -> Result<(), SteerError> {
        inbox.push_in_front(message);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_delivered_out_of_order() {
    assert_breaks::<DeliversOutOfOrder>(&BOTH).await;
}

/// It delivers a message twice.
struct DeliversTwice;

impl Quirk for DeliversTwice {
    fn accept(inbox: &Inbox, message: Vec<ContentBlock>) -> Result<(), SteerError> {
        inbox.push(message.clone());
        inbox.push(message);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_delivered_twice() {
    assert_breaks::<DeliversTwice>(&BOTH).await;
}

/// It panics when it takes a message.
struct PanicsInSteer;

impl Quirk for PanicsInSteer {
    fn accept(_inbox: &Inbox, _message: Vec<ContentBlock>) -> Result<(), SteerError> {
        panic!("the inbox is gone")
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_makes_the_provider_panic() {
    assert_breaks::<PanicsInSteer>(&BOTH).await;
}

/// It does not say what it did not deliver.
struct DropsTheUndelivered;

impl Quirk for DropsTheUndelivered {
    fn undelivered(_left: Vec<Vec<ContentBlock>>) -> Vec<Vec<ContentBlock>> {
        Vec::new()
    }
}

#[tokio::test(start_paused = true)]
async fn undelivered_messages_that_are_not_listed() {
    assert_breaks::<DropsTheUndelivered>(&[Promise::UndeliveredMessagesAreListed]).await;
}

/// It delivers where its type is known, and not where it is erased.
struct ForgetsTheErasedDoor;

impl Quirk for ForgetsTheErasedDoor {
    fn accept_erased(_inbox: &Inbox, _message: Vec<ContentBlock>) -> Result<(), SteerError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_lost_by_name_alone() {
    assert_breaks::<ForgetsTheErasedDoor>(&BOTH).await;
}
