"""The words that the stories share with the product and that a rename may change: this file alone has them."""

from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The laptop stack

#: What `make run` runs; the folder for the stack's state follows.
START_STACK = ("-m", "local.up", "--state")
WITH_PACK = "--pack"
#: What runs one function on a sample event, and the page that tells operators so.
INVOKE, OPERATE_PAGE = ("-m", "local.invoke"), "docs/tasks/operate.md"
#: Who the sample events come from.
SAMPLE_SENDER = "+447700900123"
#: What the laptop has beside the API: a member's token; the simulated phone.
LOCAL_TOKEN, PHONE, PHONE_NUMBERS, PHONE_MESSAGES = (
    "/local/token",
    "/local/phone",
    "/local/phone/numbers",
    "/local/phone/messages",
)
PORT_VARIABLES = tuple(
    f"PARLOUR_{server}_PORT" for server in ("CONSOLE", "EMULATOR", "PHONE", "EMBEDDINGS", "ISSUER", "OFFICE", "MAIL")
)
#: What decides, without a key, who answers: a pack's scenes, or the offline model alone.
MODEL_VARIABLE, OFFLINE, DEMO = "PARLOUR_MODEL", "offline", "demo"
#: What it prints once every part answers.
STACK_IS_READY = "Parlour is ready."
#: The Gupshup webhook with its token, as it is printed then; group 1 is the deployed API.
WEBHOOK_ADDRESS = r"(http\S+)/webhooks/gupshup/\S+"
WHATSAPP_CLOUD_WEBHOOK = "/webhooks/whatsapp"
#: Files of the state folder: {"url", "tenant", "key"} of the `parlour` command; secrets by name.
STATE_FOLDER, COMMAND_FILE, SECRETS_FILE = ".parlour", "cli.json", "secrets.json"
CLOUD_APP_SECRET, CLOUD_VERIFY_TOKEN = "whatsapp_app_secret", "whatsapp_verify_token"
#: The variables that tell the command where to go and as whom.
COMMAND_URL, COMMAND_TENANT, COMMAND_KEY = "PARLOUR_URL", "PARLOUR_TENANT", "PARLOUR_KEY"

# The example pack

#: The day of its files; an apply moves it, with all dates, to the current week.
EXAMPLE_PLAYS_ON = date(2026, 3, 2)
SITE_DESK, CONTRACT_DESK = "site-desk", "contract-desk"
GUPSHUP_APP, GUPSHUP_NUMBER = "ParlourDemo", "447700900142"
CLOUD_NUMBER_ID = "104729350000142"
TEAM = "site-operations"

# Headers

TENANT_HEADER = "Parlour-Tenant"
CLOUD_SIGNATURE = "X-Hub-Signature-256"

# Paths and fields of the API

ENTITIES, LINKS = "/v1/entities", "/v1/links"
ERASURES, ERASURE_LIST = "/v1/erasures", "erasures"
SHARED_FACTS = "/v1/memory/shared-facts"
REBUILT_PROMPT = "/v1/turns/{}/prompt/rebuilt"
DEAD_LETTERS = "/v1/operations/dead-letters"
#: Fields of a turn's record, of a fact, of a Pulse, of the report of an erasure.
DELIVERY, ANSWERED = "delivery", "answered"
SAID_IN, FORMER_VALUES = "evidence_messages", "previous_values"
CHANGES_SINCE, STALE_SINCE = "changes_text", "stale_since"
ERASED_ROWS, ERASED_TABLE, OUT_OF_REACH = "rows", "table", "out_of_reach"
ROWS_WITH_PERSONAL_DATA = {"facts", "messages", "sessions", "users"}
FACT_NAME = "name"
#: Of a reply: waits for a person; nobody knows whether it arrived.
MAIL_FOLDER = "mail"
HELD_REPLY, UNKNOWN_DELIVERY = "held_reply", "unknown_delivery"

# The command

ERASE, ATTENTION, REDRIVE = "erase", "attention", "redrive"
MARK_ARRIVED, DISMISS = "arrived", "dismiss"
NOTHING_NEEDS_A_PERSON = "Nothing needs attention"
NOTHING_CHANGED = "no changes"
SAME_BYTES = "identical bytes"

# What people read (patterns, letter case ignored)

TOO_LONG_LINE = r"longer than I can read|keep a message under"
CLOSED_LINE = r"do not answer messages"
STOPPED_LINE = r"switched off"
UNREADABLE_FILE = r"cannot be read"
WRONG_KIND_OF_FILE = r"not supported"
EMPTY_FILE = r"empty"
FILE_TOO_LARGE = r"larger than"
