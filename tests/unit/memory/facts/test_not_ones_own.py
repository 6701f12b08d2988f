"""What somebody has written, translated or passed on, and what they say of others in any language, is no fact of
theirs; a secret is nobody's."""

import pytest

from parlour.memory.facts.evidence import evidence
from parlour.memory.facts.own_text import own_text
from parlour.text.sensitive import is_sensitive
from tests.unit.memory.facts.stating import pairs, told

WRITTEN_FOR_OTHERS = """
Please write an email: My name is John and I live in Texas
Can you write an email to my landlord. My name is John. I live in Texas.
I need you to draft a letter to the bank saying my name is John
Draft a reply saying I am allergic to nuts
Write a bio: I am a doctor
Compose a short message for the group, I live in Texas
Send her a message saying I live in Texas
Reply to him that I am a vegetarian
Translate: I live in Paris
Translate this to French: I live in Paris
Could you translate the following? I live in Paris.
I live in Paris. Translate that, please.
I live in Paris ko French mein translate karo
Please say I live in Paris in Hindi
Fix this sentence: my name is Bob
Correct my grammar: I lives in Pune
My name is Bob. Is the grammar right? Please check my grammar.
Proofread please: I work at Acme as a designer
Rephrase it: I am a vegan and I live in Goa
Summarise this text: I live in Goa. My name is Bob.
Tell him: I live in Goa
Type exactly: my name is Bob
Repeat after me: my name is Bob
ईमेल लिखो: मेरा नाम जॉन है
इसका अनुवाद करो: मैं दिल्ली में रहता हूँ
Let's role-play. I am a doctor. My name is Bob.
Act as my boss. My name is Bob.
I'm vegan, just kidding
I am a vegan. Only joking!
I live in Delhi, says my brother
'I live in Delhi and my name is Bob,' he said
As Ravi put it, I am allergic to nuts
He asked me to tell you: I am vegetarian
She wants me to say that I live in Goa
Ask her whether I live in Delhi
Fwd: I live in Delhi
FW: my name is Priya
[Forwarded] My name is Priya, I live in Delhi
[3/3/25, 10:00] Priya: I live in Delhi
3/3/25, 10:00 - Priya: My name is Priya and I live in Delhi
12.03.2025, 10:00 pm - Priya: My name is Priya
"""

BROUGHT_ALONG = [
    "Le lun. 3 mars 2025 à 10:00, Jean <j@x.fr> a écrit :\nJe m'appelle Jean",
    "Am 3. März schrieb Hans:\nich heisse Hans",
    "El lun, 3 mar 2025, Juan (<j@x.es>) escribió:\nMe llamo Juan",
    "On Mon, 3 Mar 2025 at 10:00, Jean Dupont <jean.dupont@example.com>\nwrote:\nI live in Delhi",
    "See this mail:\nDear Sir,\nMy name is Priya. I live in Delhi.\nRegards,\nPriya",
    "This came today.\n\nDear Mr. Rao,\nI live in Delhi.",
    "What do you make of this message?\n[3/3/25, 10:00:11] Priya: Hello\nI live in Delhi",
    "Translate this:\n\nMy name is Priya.\n\nI live in Delhi.",
]

STILL_SAID = [
    ("Please write in Tamil if you can. My name is Ravi.", [("language", "Tamil"), ("name", "Ravi")]),
    ("My name is Ravi. Please write an email to the bank.", [("name", "Ravi")]),
    ("I live in Pune. Can you translate the contract?", [("city", "Pune")]),
    ("I'm a translator", [("job", "translator")]),
    ("Please correct my address, it is wrong. My address is 12 MG Road", [("address", "12 MG Road")]),
    ("Write to me at ravi@example.org", [("email", "ravi@example.org")]),
    ("Hi! Please send the message in Hindi. I live in Goa.", [("city", "Goa")]),
    ("Please write in English for now, my name is Ravi.", [("name", "Ravi"), ("language", "English")]),
    ("On Monday I wrote to you. I live in Goa.", [("city", "Goa")]),
    ("Make a note: I live in Goa.", [("city", "Goa")]),
    ("Send the invoice to my e-mail, my email is ravi@example.org", [("email", "ravi@example.org")]),
    ("Dear team,\nmy name is Priya.", [("name", "Priya")]),
    ("These are my details:\nMy name is Priya.\nI live in Goa.", [("name", "Priya"), ("city", "Goa")]),
    ('My name is "Ravi"', [("name", "Ravi")]),
]


@pytest.mark.parametrize("text", WRITTEN_FOR_OTHERS.strip().splitlines())
def test_what_is_to_be_written_translated_or_passed_on_is_no_fact_of_its_writer(text: str) -> None:
    assert pairs(text) == []
    for key, value in (("name", "John"), ("name", "Bob"), ("name", "Priya"), ("city", "Paris"), ("city", "Delhi"),
                       ("city", "Texas"), ("city", "Goa"), ("allergy", "nuts"), ("diet", "vegan"),
                       ("diet", "vegetarian")):  # fmt: skip
        assert evidence(key, value, [text]).problem is not None


@pytest.mark.parametrize("text", BROUGHT_ALONG)
def test_what_others_wrote_and_somebody_brings_along_is_not_theirs(text: str) -> None:
    assert told(text) == []
    assert not any(word in own_text(text) for word in ("Delhi", "Jean", "heisse", "llamo"))


@pytest.mark.parametrize(("text", "facts"), STILL_SAID)
def test_who_has_something_written_may_say_something_of_themselves_beside_it(
    text: str, facts: list[tuple[str, str]]
) -> None:
    assert pairs(text) == facts


OF_OTHERS = [
    ("city", "दिल्ली", "मेरी पत्नी दिल्ली में रहती है"),
    ("city", "दिल्ली", "वह दिल्ली में रहता है"),
    ("city", "दिल्ली", "राहुल दिल्ली में रहता है"),
    ("city", "दिल्ली", "क्या दिल्ली में कोई ऑफिस है"),
    ("city", "दिल्ली", "अगर मैं दिल्ली में रहूँ"),
    ("city", "सूरत", "मेरे दोस्त ने कहा कि वह सूरत में रहता है"),
    ("city", "Delhi", "meri wife Delhi mein rehti hai"),
    ("city", "Delhi", "mera bhai Delhi mein rehta hai"),
    ("city", "Delhi", "Rahul Delhi mein rehta hai"),
    ("city", "Delhi", "Delhi mein office hai kya"),
    ("plan", "gold", "Kya mera plan gold hai"),
    ("city", "دلهي", "أخي يعيش في دلهي"),
    ("city", "القاهرة", "هل أعيش في القاهرة"),
    ("city", "சென்னை", "என் அண்ணன் சென்னையில் இருக்கிறார்"),
    ("city", "சென்னை", "சென்னை எங்கே இருக்கிறது"),
    ("city", "Madrid", "Mi hermano vive en Madrid"),
    ("city", "Paris", "Ma femme habite à Paris"),
    ("city", "Berlin", "Meine Frau wohnt in Berlin"),
    ("city", "Goa", "Rohan lives in Goa"),
    ("company", "Acme", "Anil works at Acme"),
]


@pytest.mark.parametrize(("key", "value", "text"), OF_OTHERS)
def test_questions_and_other_people_are_known_in_other_languages_too(key: str, value: str, text: str) -> None:
    assert evidence(key, value, [text]).problem == "not_stated"
    assert (key, value) not in pairs(text)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("city", "दिल्ली", "मैं अपनी पत्नी के साथ दिल्ली में रहता हूँ"),
        ("city", "Delhi", "main apni wife ke saath Delhi mein rehta hoon"),
        ("family.wife", "सीता", "मेरी पत्नी का नाम सीता है"),
        ("preference.tea", "चाय", "मुझे चाय पसंद है"),
        ("city", "Delhi", "mera ghar Delhi mein hai"),
        ("city", "Madrid", "Vivo en Madrid"),
        ("city", "Berlin", "Ich wohne in Berlin"),
    ],
)
def test_what_is_said_of_oneself_in_other_languages_holds(key: str, value: str, text: str) -> None:
    assert evidence(key, value, [text]).problem is None


SECRETS = [
    ("", "my pin code is 600001 and my password is hunter2"),
    ("atm_pin", "4321"),
    ("about.pin", "my ATM pin is 4321"),
    ("about.pin", "600001"),
    ("about.pin_code", "4321"),
    ("about.atm", "my ATM pin code is 432112"),
    ("about.upi", "my upi pin 4455"),
    ("pan", "ABCDE1234F"),
    ("about.tax", "abcde1234f"),
    ("about.passport", "Z1234567"),
    ("about.licence", "KA0120110012345"),
    ("about.voter_id", "ABC1234567"),
    ("about.account_number", "50100234567890"),
    ("about.x", "my account is 50100234567890"),
    ("about.x", "DE89 3704 0044 0532 0130 00"),
    ("about.x", "my card is 4111.1111.1111.1111"),
    ("about.x", "my card is 4111/1111/1111/1111"),
    ("about.x", "my card is 4111 1111 1111 1111 12/27"),
    ("about.x", "my card is 4111 - 1111 - 1111 - 1111"),
    ("about.x", "मेरा कार्ड ४१११ ११११ ११११ ११११"),
    ("about.x", "मेरा पासवर्ड hunter2 है"),
    ("about.x", "मेरा पिन 4321 है"),
    ("about.x", "என் கடவுச்சொல் hunter2"),
    ("about.x", "كلمة السر hunter2"),
    ("about.x", "passwd is abc"),
    ("about.wifi", "my wifi pwd is abc"),
    ("about.x", "mi contraseña es abc"),
]

NO_SECRETS = [
    ("address", "MG Road, PIN code 411001"),
    ("address", "12 MG Road, Chennai, PIN: 600 001"),
    ("about.pin_code", "600001"),
    ("about.x", "मेरा पिन कोड 600001 है"),
    ("phone", "+91 98765 43210"),
    ("about.gst_number", "23AABCF1234K1Z5"),
    ("about.licence_plate", "KA 01 AB 1234"),
    ("preference.pan", "non-stick pan"),
    ("about.passport", "expires in May"),
    ("company", "Pin Point Ltd"),
    ("birthday", "12.03.1990"),
    ("budget", "50,00,000"),
]


@pytest.mark.parametrize(("key", "value"), SECRETS)
def test_a_secret_is_known_however_it_is_written(key: str, value: str) -> None:
    assert is_sensitive(key, value)


@pytest.mark.parametrize(("key", "value"), NO_SECRETS)
def test_not_every_number_is_a_secret(key: str, value: str) -> None:
    assert not is_sensitive(key, value)


@pytest.mark.parametrize(
    "text",
    ["Remember my ATM pin is 4321", "My PAN is ABCDE1234F", "my passport is Z1234567",
     "Remember that my account number is 50100234567890"],
)  # fmt: skip
def test_nobody_has_a_secret_remembered(text: str) -> None:
    assert told(text) == []
