"""E-mail: SES in the cloud, any SMTP server elsewhere."""

import smtplib
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError

from parlour.infra.errors import DeliveryUnknown, Misconfigured, ProviderRejected, ProviderUnavailable
from parlour.notifications.event import console_link, inbox_link, write_email, write_summary
from parlour.notifications.store import NotificationRow

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client

TENANT_TAG, NOTIFICATION_TAG = "tenant_id", "notification_id"

_SMTP_SECONDS = 15
_TEMPORARY = range(400, 500)
_RETRYABLE_CODES = frozenset({"TooManyRequestsException", "LimitExceededException", "SendingPausedException"})
_REFUSED_CODES = frozenset(
    {
        "MessageRejected",
        "BadRequestException",
        "NotFoundException",
        "MailFromDomainNotVerifiedException",
        "AccountSuspendedException",
        "AccessDeniedException",
    }
)


def make_message(notification: NotificationRow, sender: str, public_url: str) -> EmailMessage:
    """Return the mail of a notification; every attempt has the same Message-ID."""
    count, binding = notification.waiting_count, notification.binding
    link = console_link(public_url, notification.session_id)
    text = (
        write_summary(count, binding, inbox_link(public_url))
        if count
        else write_email(notification.event, binding, notification.reason, link)
    )
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, notification.recipient, text.subject
    message["Date"] = format_datetime(notification.created_at)
    message["Message-ID"] = f"<{notification.id}@{sender.rpartition('@')[2].rstrip('>')}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office reply
    message.set_content(text.body)
    return message


@dataclass(frozen=True, slots=True)
class SmtpSender:
    """An SMTP server on the laptop. `url`: smtp://host:port."""

    url: str
    sender: str
    public_url: str

    def send(self, notification: NotificationRow, /) -> None:
        """Hand the mail over; raises as `Sender`."""
        message = make_message(notification, self.sender, self.public_url)
        server: smtplib.SMTP | None = None
        try:
            parts = urlsplit(self.url)
            if parts.scheme != "smtp" or not parts.hostname:
                raise Misconfigured("SMTP_URL must be smtp://host:port")
            server = smtplib.SMTP(parts.hostname, parts.port or 25, timeout=_SMTP_SECONDS)
            server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            [(code, answer)] = error.recipients.values()
            raise _refusal(code, answer) from error
        except smtplib.SMTPResponseException as error:
            raise _refusal(error.smtp_code, error.smtp_error) from error
        except (OSError, smtplib.SMTPException) as error:
            if server is None:
                raise ProviderUnavailable(f"The mail server does not answer ({type(error).__name__}).") from error
            raise DeliveryUnknown("The mail server broke off. The mail may have arrived.") from error
        finally:
            if server is not None:
                server.close()


def _refusal(code: int, answer: bytes | str) -> ProviderUnavailable | ProviderRejected:
    """Return the error of a mail server's refusal: 4xx may be tried again, 5xx never succeeds (RFC 5321)."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    if code in _TEMPORARY:
        return ProviderUnavailable(f"The mail server asks to wait: {code} {text}")
    return ProviderRejected(f"The mail server refused the address or the mail: {code} {text}")


@dataclass(frozen=True, slots=True)
class SesSender:
    """Amazon SES.

    sender             the identity that the function may send from.
    configuration_set  reports bounces; the tags of a mail name its notification there.
    """

    client: "SESV2Client"
    sender: str
    public_url: str
    configuration_set: str

    def send(self, notification: NotificationRow, /) -> None:
        """Hand the mail over; raises as `Sender`."""
        message = make_message(notification, self.sender, self.public_url)
        try:
            self.client.send_email(
                FromEmailAddress=self.sender,
                Destination={"ToAddresses": [notification.recipient]},
                ConfigurationSetName=self.configuration_set,
                EmailTags=[
                    {"Name": TENANT_TAG, "Value": str(notification.tenant_id)},
                    {"Name": NOTIFICATION_TAG, "Value": str(notification.id)},
                ],
                Content={"Raw": {"Data": message.as_bytes()}},
            )
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            said = error.response.get("Error", {}).get("Message", code)
            if code in _RETRYABLE_CODES:
                raise ProviderUnavailable(f"SES asks to wait: {said}") from error
            if code in _REFUSED_CODES:
                raise ProviderRejected(f"SES refused the mail: {said}") from error
            raise DeliveryUnknown(f"SES did not say whether it took the mail: {code}") from error
        except (AwsConnectionError, HTTPClientError) as error:
            raise DeliveryUnknown("SES did not answer. The mail may have arrived.") from error


@dataclass(frozen=True, slots=True)
class NoEmail:
    """A deployment without a sender address: every mail fails visibly."""

    def send(self, _notification: NotificationRow, /) -> None:
        """Raise Misconfigured."""
        raise Misconfigured("This deployment has no sender address. Set MailFrom, and SmtpUrl outside of AWS.")
