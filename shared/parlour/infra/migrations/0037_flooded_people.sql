-- address: the hash of where the visitor who asked for a code was, as rate limits know it; null when that is not known.
ALTER TABLE phone_links ADD COLUMN address text;

-- When a recipient got the last mail.
CREATE INDEX notifications_mail ON notifications (tenant_id, recipient, ended_at) WHERE medium = 'email';

-- Whether a session is of a visitor whom no channel has verified, and of no member.
CREATE FUNCTION is_stranger(session sessions) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT session.channel = 'web'
           AND EXISTS (SELECT FROM users u WHERE u.tenant_id = session.tenant_id AND u.id = session.user_id
                                             AND u.phone IS NULL AND u.member_id IS NULL)
$$;
