"""What the user hears when the model is not asked, or had no answer. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parlour.inbox.service_hours import persona_locale
from parlour.infra.errors import ParlourError, ProviderUnavailable, SpendRefused, SpendStopped
from parlour.infra.json_values import Json
from parlour.prompts.assembly import attachments
from parlour.prompts.assembly.user_message import MAX_TEXT_CHARS, TOOL_RESULT_KIND, ReceivedText, has_readable_text
from parlour.tenancy.persona import Persona
from parlour.text.local_times import Locale
from parlour.text.words import known_language

type ReplyCause = Literal[
    "paused",
    "stopped",
    "cap_reached",
    "provider_unavailable",
    "misconfigured",
    "too_many_messages",
    "person_asked",
    "person_checks",
    "person_approves",
    "person_late",
    "closed_hours",
    "turn_stopped",
    "still_working",
    "reply_cut",
    "changes_done",
    "record_created",
    "record_changed",
    "record_unverified",
    "question",
    "question_answer",
    "questions_answer",
    "question_yes",
    "question_no",
    "question_done",
    "question_approved",
    "question_refused",
    "question_expired",
    "question_replaced",
]
"""Why no model answers, or not yet; tenant.yaml may give each a text of its own, under `replies`.

paused                the tenant or the binding answers nobody.
stopped               an operator switched model calls off.
cap_reached           the day's cap is reached.
provider_unavailable  no model provider answers.
misconfigured         a model's key or setting is wrong, or the provider refuses the request.
too_many_messages     the user writes faster than the binding allows.
person_asked          the conversation waits for a person.
person_checks         it does, because something did not work.
person_approves       it does, because a person has to agree first.
person_late           a person takes longer than they should.
closed_hours          it waits for a person, and nobody is on duty; {opening} is the next time somebody is.
turn_stopped          the user or a member of the tenant stopped the answer, on messaging.
still_working         a turn on messaging takes longer than usual; its reply follows.
reply_cut             a reply was longer than it may be, and ends before its end.
changes_done          what was done before a question was asked; {changes} names the tool.
record_created        the record that was created then, by {type} and {name}; record_changed: the record that was
                      changed, with its {properties}; record_unverified: {visibility} where only the user sees it.
question              the user is asked before something is done; the exact effect follows.
question_answer       what to answer to one question; {until} is when it expires.
questions_answer      what to answer where several are open.
question_yes          the button that agrees, at most 20 characters; question_no: the one that refuses.
question_done         a button of a question was pressed that was approved at {at}, and whose call has ended, one way or
                      another; question_approved: approved at {at}, the call goes on; question_refused: refused at
                      {at}; question_expired: it expired at {at}; question_replaced: it is closed for another reason.
"""

REPLIES_SETTING = "replies"
"""The tenant's setting with its own texts: {cause: {language: text}}."""

PAUSED_REPLY = "We do not answer messages at the moment. Please write again later."
STOPPED_REPLY = "Automatic answers are switched off at the moment. Please write again later."
NO_ANSWER_REPLY = "I'm having trouble pulling that up. Could you ask again in a moment, or put it another way?"
UNAVAILABLE_REPLY = "The service that writes my answers does not respond. Please ask again in a few minutes."
FAULT_REPLY = "A fault on our side keeps me from answering. We have been notified; please try again later."
FAILED_REPLY = (
    "Something went wrong on our side and I could not answer. Somebody has been told; please try again later."
)

MESSAGE_TOO_LONG_REPLY = (
    f"That is longer than I can read in one go: please keep a message under {MAX_TEXT_CHARS:,} characters, "
    "or send it in parts."
)
INPUT_TOO_LARGE_REPLY = "That is more text than I can read in one go: please send it in parts, or in fewer words."
RESULTS_TOO_LARGE_REPLY = (
    "To answer that I had to look up more than I can read in one go. Please ask for less at a time: one question, "
    "or one record."
)
CHANGES_KEPT_SUFFIX = " The changes that I had already made stay in place."
MISCONFIGURED_REPLY = (
    "I cannot answer here at the moment: something on our side leaves no room for your message. Somebody has been "
    "told; please try again later."
)
RATE_LIMIT_NOTICE = "You are writing faster than I can answer. I have your messages and answer them in a moment."
PERSON_ASKED_REPLY = "I have asked a colleague to answer you here. They read what you write until then."
PERSON_CHECKS_REPLY = (
    "Something did not work as it should. I have asked a colleague to check it and to answer you here."
)
PERSON_APPROVES_REPLY = (
    "A colleague has to agree to this first. I have asked them, and I write to you here what they say."
)
PERSON_LATE_REPLY = "It takes longer than usual until a colleague answers. We have not forgotten you."
CLOSED_HOURS_REPLY = "Nobody is on duty at the moment. A colleague answers you here from {opening}."
TURN_STOPPED_REPLY = "Stopped."
STILL_WORKING_REPLY = "I am still working on this. My answer follows."
DAILY_CAP_REPLY = "I have answered all I can for today. Please write again tomorrow."

_EMPTY_MESSAGE_REPLY = "Your message arrived without any text. What would you like to know?"
_UNSUPPORTED_MEDIA_REPLY = (
    "I cannot open attachments of this kind here, only pictures and plain text. "
    "Could you tell me in words what you need?"
)

_TEXTS: Mapping[ReplyCause, str] = {
    "paused": PAUSED_REPLY,
    "stopped": STOPPED_REPLY,
    "cap_reached": DAILY_CAP_REPLY,
    "provider_unavailable": UNAVAILABLE_REPLY,
    "misconfigured": FAULT_REPLY,
    "too_many_messages": RATE_LIMIT_NOTICE,
    "person_asked": PERSON_ASKED_REPLY,
    "person_checks": PERSON_CHECKS_REPLY,
    "person_approves": PERSON_APPROVES_REPLY,
    "person_late": PERSON_LATE_REPLY,
    "closed_hours": CLOSED_HOURS_REPLY,
    "turn_stopped": TURN_STOPPED_REPLY,
    "still_working": STILL_WORKING_REPLY,
    "reply_cut": "My answer was too long and ends here. Ask me for the rest.",
    "changes_done": "Done: {changes}.",
    "record_created": "Created the {type} “{name}”{visibility}.",
    "record_changed": "Changed the {type} “{name}”{properties}{visibility}.",
    "record_unverified": " (only you see it until a member of the team accepts it)",
    "question": "Shall I do this?",
    "question_answer": "Reply yes or no. I can wait until {until}.",
    "questions_answer": "Reply with the number and yes or no, such as “1 yes”. I can wait until {until}.",
    "question_yes": "Yes",
    "question_no": "No",
    "question_done": "It was approved on {at}. How it ended is in the messages above.",
    "question_approved": "It was approved on {at} and is being done.",
    "question_refused": "It was refused on {at}. Nothing was done.",
    "question_expired": "The question expired on {at}. Nothing was done; ask for it again.",
    "question_replaced": "This question was withdrawn, replaced or closed. The button changes nothing.",
}

_TRANSLATIONS: Mapping[str, Mapping[ReplyCause, str]] = {
    "en": _TEXTS,
    "de": {
        "still_working": "Ich bin noch dabei. Die Antwort folgt.",
        "reply_cut": "Meine Antwort war zu lang und endet hier. Fragen Sie nach dem Rest.",
        "changes_done": "Erledigt: {changes}.",
        "record_created": "Angelegt: {type} „{name}“{visibility}.",
        "record_changed": "Geändert: {type} „{name}“{properties}{visibility}.",
        "record_unverified": " (nur Sie sehen das, bis jemand aus dem Team es annimmt)",
        "question": "Soll ich das tun?",
        "question_answer": "Antworten Sie mit ja oder nein. Ich kann bis {until} warten.",
        "questions_answer": "Antworten Sie mit der Nummer und ja oder nein, etwa „1 ja“. Ich kann bis {until} warten.",
        "question_yes": "Ja",
        "question_no": "Nein",
        "question_done": "Dem wurde am {at} zugestimmt. Wie es ausging, steht in den Nachrichten darüber.",
        "question_approved": "Dem wurde am {at} zugestimmt; es wird gerade ausgeführt.",
        "question_refused": "Das wurde am {at} abgelehnt. Es wurde nichts getan.",
        "question_expired": "Die Frage ist am {at} abgelaufen. Es wurde nichts getan; bitte fragen Sie noch einmal.",
        "question_replaced": "Diese Frage wurde zurückgezogen oder geschlossen. Die Schaltfläche ändert nichts.",
    },
    "es": {
        "still_working": "Sigo trabajando en ello. Le respondo en cuanto termine.",
        "reply_cut": "Mi respuesta era demasiado larga y termina aquí. Pídame el resto.",
        "changes_done": "Hecho: {changes}.",
        "record_created": "Creado: {type} «{name}»{visibility}.",
        "record_changed": "Cambiado: {type} «{name}»{properties}{visibility}.",
        "record_unverified": " (solo usted lo ve hasta que alguien del equipo lo acepte)",
        "question": "¿Lo hago?",
        "question_answer": "Responda sí o no. Puedo esperar hasta el {until}.",
        "questions_answer": "Responda con el número y sí o no, por ejemplo «1 sí». Puedo esperar hasta el {until}.",
        "question_yes": "Sí",
        "question_no": "No",
        "question_done": "Se aprobó el {at}. El resultado está en los mensajes anteriores.",
        "question_approved": "Se aprobó el {at} y se está haciendo.",
        "question_refused": "Se rechazó el {at}. No se hizo nada.",
        "question_expired": "La pregunta caducó el {at}. No se hizo nada; pídalo de nuevo.",
        "question_replaced": "Esta pregunta fue retirada, sustituida o cerrada. El botón no cambia nada.",
    },
    "fr": {
        "still_working": "J'y travaille encore. La réponse suit.",
        "reply_cut": "Ma réponse était trop longue et s'arrête ici. Demandez-moi la suite.",
        "changes_done": "C'est fait : {changes}.",
        "record_created": "Créé : {type} « {name} »{visibility}.",
        "record_changed": "Modifié : {type} « {name} »{properties}{visibility}.",
        "record_unverified": " (vous seul le voyez jusqu'à ce qu'un membre de l'équipe l'accepte)",
        "question": "Dois-je faire ceci ?",
        "question_answer": "Répondez oui ou non. Je peux attendre jusqu'au {until}.",
        "questions_answer": "Répondez par le numéro et oui ou non, comme « 1 oui ». Je peux attendre jusqu'au {until}.",
        "question_yes": "Oui",
        "question_no": "Non",
        "question_done": "Cela a été accepté le {at}. Le résultat est dans les messages ci-dessus.",
        "question_approved": "Cela a été accepté le {at} et est en cours.",
        "question_refused": "Cela a été refusé le {at}. Rien n'a été fait.",
        "question_expired": "La question a expiré le {at}. Rien n'a été fait ; demandez-le de nouveau.",
        "question_replaced": "Cette question a été retirée, remplacée ou fermée. Le bouton ne change rien.",
    },
    "hi": {
        "still_working": "इस पर काम चल रहा है। जवाब थोड़ी देर में आएगा।",
        "reply_cut": "मेरा जवाब बहुत लंबा था और यहाँ रुकता है। बाकी के लिए पूछें।",
        "changes_done": "हो गया: {changes}।",
        "record_created": "बनाया गया: {type} “{name}”{visibility}।",
        "record_changed": "बदला गया: {type} “{name}”{properties}{visibility}।",
        "record_unverified": " (टीम के स्वीकार करने तक यह सिर्फ़ आपको दिखेगा)",
        "question": "क्या मैं यह करूँ?",
        "question_answer": "हाँ या नहीं में उत्तर दें। मैं {until} तक इंतज़ार कर सकता हूँ।",
        "questions_answer": "संख्या के साथ हाँ या नहीं लिखें, जैसे “1 हाँ”। मैं {until} तक इंतज़ार कर सकता हूँ।",
        "question_yes": "हाँ",
        "question_no": "नहीं",
        "question_done": "इसकी मंज़ूरी {at} पर मिली। नतीजा ऊपर के संदेशों में है।",
        "question_approved": "इसकी मंज़ूरी {at} पर मिली और यह किया जा रहा है।",
        "question_refused": "इसे {at} पर मना कर दिया गया। कुछ नहीं किया गया।",
        "question_expired": "इस सवाल का समय {at} पर समाप्त हो गया। कुछ नहीं किया गया; कृपया फिर से कहें।",
        "question_replaced": "यह सवाल वापस ले लिया गया, बदल दिया गया या बंद हो गया है। बटन से कुछ नहीं बदलता।",
    },
    "mr": {
        "still_working": "यावर काम सुरू आहे. उत्तर थोड्या वेळात येईल.",
        "reply_cut": "माझे उत्तर खूप मोठे होते आणि इथे थांबते. उरलेल्यासाठी विचारा.",
        "changes_done": "झाले: {changes}.",
        "record_created": "तयार केले: {type} “{name}”{visibility}.",
        "record_changed": "बदलले: {type} “{name}”{properties}{visibility}.",
        "record_unverified": " (टीमने स्वीकारेपर्यंत हे फक्त तुम्हाला दिसेल)",
        "question": "मी हे करू का?",
        "question_answer": "हो किंवा नाही असे उत्तर द्या. मी {until} पर्यंत थांबू शकतो.",
        "questions_answer": "क्रमांकासह हो किंवा नाही लिहा, जसे “1 हो”. मी {until} पर्यंत थांबू शकतो.",
        "question_yes": "हो",
        "question_no": "नाही",
        "question_done": "याला {at} ला मंजुरी मिळाली. निकाल वरच्या संदेशांमध्ये आहे.",
        "question_approved": "याला {at} ला मंजुरी मिळाली आणि ते केले जात आहे.",
        "question_refused": "याला {at} ला नकार दिला गेला. काहीही केले गेले नाही.",
        "question_expired": "या प्रश्नाची मुदत {at} ला संपली. काहीही केले गेले नाही; कृपया पुन्हा सांगा.",
        "question_replaced": "हा प्रश्न मागे घेतला, बदलला किंवा बंद झाला आहे. बटणाने काहीही बदलत नाही.",
    },
}
"""What is built in besides English, in the languages whose yes and no `approvals.typed_answer` reads."""


@dataclass(frozen=True, slots=True)
class CannedTexts:
    """The canned replies of one agent: the tenant's own texts in the agent's languages, else the built-in ones.

    locale  how the times in them are written.
    """

    settings: Mapping[str, Json] = field(default_factory=dict)
    languages: Sequence[str] = ()
    locale: Locale = field(default_factory=Locale)

    @classmethod
    def of_persona(cls, persona: Persona, languages: Sequence[str] = ()) -> "CannedTexts":
        """Return the texts of a persona's agent, in the languages in this order, else in the agent's."""
        chosen = languages or persona.human.languages
        return cls(persona.tenant.settings, chosen, Locale.choose(chosen, persona_locale(persona).zone))

    def find(self, cause: ReplyCause) -> str:
        """Return the text for a cause, in the first of the agent's languages that the tenant, or else Parlour, has."""
        own = self.settings.get(REPLIES_SETTING)
        texts = own.get(cause) if isinstance(own, dict) else None
        texts = texts if isinstance(texts, dict) else {}
        wanted = [name for language in self.languages for name in (language, language.partition("-")[0])]
        built_in = {name: found[cause] for name, found in _TRANSLATIONS.items() if cause in found}
        return str(
            next((found[name] for found in (texts, built_in) for name in wanted if name in found), _TEXTS[cause])
        )


def order_languages(languages: Sequence[str], user_texts: Sequence[str]) -> list[str]:
    """Return an agent's languages, first the one that its user writes, where their texts tell."""
    written = known_language("\n".join(user_texts))
    return sorted(languages, key=lambda language: written is not None and language.partition("-")[0] != written)


def degraded_cause(problem: ParlourError) -> ReplyCause:
    """Return why a turn has no model: by the error that ended it."""
    if isinstance(problem, SpendStopped):
        return "stopped"
    if isinstance(problem, SpendRefused):
        return "cap_reached"
    return "provider_unavailable" if isinstance(problem, ProviderUnavailable) else "misconfigured"


def is_answerable(message: ReceivedText) -> bool:
    """Whether the model can do something with this message: with its words, or with what came with it."""
    return (
        message.kind == TOOL_RESULT_KIND
        or has_readable_text(message)
        or attachments.has_readable_attachment(message.attachments or [])
    )


def canned_reply(input_messages: Sequence[ReceivedText], texts: CannedTexts, *, is_open: bool) -> str | None:
    """Return the line that answers a turn without the model, or None when the model is to answer it.

    A tenant that is paused or archived, or an inactive binding, is closed. A burst with at least one readable message
    goes to the model; otherwise the last message decides.
    """
    if not is_open:
        return texts.find("paused")
    if any(is_answerable(message) for message in input_messages):
        return None
    last = input_messages[-1]
    if len(last.body) > MAX_TEXT_CHARS:
        return MESSAGE_TOO_LONG_REPLY
    return _UNSUPPORTED_MEDIA_REPLY if last.kind == "media" else _EMPTY_MESSAGE_REPLY


def overflow_reply(layer: str, *, has_written: bool) -> str:
    """Return what the user reads when a prompt cannot be made to fit, by the layer that is too large.

    Users can shorten their own words and what they had looked up; everything else is for the operator. `has_written`:
    something was changed before that.
    """
    if layer == "message":
        return INPUT_TOO_LARGE_REPLY
    if layer == "calls":
        return RESULTS_TOO_LARGE_REPLY + (CHANGES_KEPT_SUFFIX if has_written else "")
    return MISCONFIGURED_REPLY + (CHANGES_KEPT_SUFFIX if has_written else "")
