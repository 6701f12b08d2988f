"""The part of the working day in which a conversation goes from one desk to another and back."""

from tests.conversation_harness import ConversationHarness, text_answer, tool_call


def hand_over_conversations(conversation: ConversationHarness) -> None:
    """By the model, so that the new desk answers with the brief and what was shown before is marked."""
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    for number, to in enumerate(("contract-desk", "site-desk"), start=1):
        conversation.send_web(visitor, session, f"Who decides on the {number} claims?")
        call = tool_call("hand_off", f"handoff_{number}", to=to, reason="A claim.", brief="Asks about claims.")
        conversation.model.script = [call, text_answer("My colleague will answer you."), text_answer("Daniel does.")]
        conversation.run_turn()
    conversation.send_web(visitor, session, "Thank you.")
    conversation.model.script = [text_answer("With pleasure.")]
    conversation.run_turn()
