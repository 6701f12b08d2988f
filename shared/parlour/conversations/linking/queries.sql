-- A visitor of the web and the user with a phone: the code between them, and how they become one.

-- name: count_recent_codes
-- How many codes a visitor, their address, a number, and all numbers of the binding were given lately; for the number also
-- those that this address, or where it is unknown this visitor, asked for.
SELECT (SELECT count(*) FROM phone_links l
         WHERE l.user_id = u.id AND l.created_at > %(hour)s AND l.id <> %(link_id)s) AS user_last_hour,
       (SELECT count(*) FROM phone_links l
         WHERE l.address = %(address)s AND l.created_at > %(hour)s AND l.id <> %(link_id)s) AS address_last_hour,
       (SELECT count(*) FROM phone_links l
         WHERE l.phone = %(phone)s AND l.created_at > %(hour)s AND l.id <> %(link_id)s) AS phone_last_hour,
       (SELECT count(*) FROM phone_links l
         WHERE l.phone = %(phone)s AND l.created_at > %(day)s AND l.id <> %(link_id)s) AS phone_last_day,
       a.last_hour AS asker_last_hour, a.last_day AS asker_last_day,
       (SELECT count(*) FROM phone_links l
         WHERE l.binding_id = %(binding_id)s AND l.created_at > %(hour)s AND l.id <> %(link_id)s) AS binding_last_hour
  FROM users u
 CROSS JOIN LATERAL (
    SELECT count(*) AS last_day, count(*) FILTER (WHERE l.created_at > %(hour)s) AS last_hour
      FROM phone_links l
     WHERE l.phone = %(phone)s AND l.created_at > %(day)s AND l.id <> %(link_id)s
       AND CASE WHEN %(address)s = '' THEN l.user_id = u.id ELSE l.address = %(address)s END
 ) a
 WHERE u.id = %(user_id)s;

-- name: lock_codes
-- Whoever else asks for a code from this address, or for this number, waits until the transaction ends: codes are counted
-- one at a time.
SELECT pg_advisory_xact_lock(hashtextextended(tenant_id::text || %(key)s, 0)) FROM users WHERE id = %(user_id)s;

-- name: lock_user
-- A user that is to be linked or merged, held as they are until the transaction ends.
SELECT id, phone, merged_into, member_id FROM users WHERE id = %(user_id)s FOR UPDATE;

-- name: find_contact
-- Who has this number, the session in which they write to the binding there, and when they last did.
SELECT u.id AS user_id, s.id AS session_id,
       (SELECT m.sent_at FROM messages m
         WHERE m.session_id = s.id AND m.channel = 'whatsapp' AND m.direction = 'inbound'
           AND m.kind IN ('text', 'media')
         ORDER BY m.position DESC LIMIT 1) AS last_inbound_at
  FROM users u
  LEFT JOIN sessions s ON s.user_id = u.id AND s.binding_id = %(binding_id)s AND s.is_main
 WHERE u.id = COALESCE((SELECT i.user_id FROM channel_identities i
                         WHERE i.channel = 'whatsapp' AND i.address = %(phone)s),
                       (SELECT o.id FROM users o WHERE o.phone = %(phone)s));

-- name: insert_code_message
-- The message that brings a code. It belongs to no turn and is no speech: no prompt, list, search or memory has it.
INSERT INTO messages (tenant_id, id, session_id, binding_id, direction, state, channel, kind, body, sent_at,
                      received_at, indexed)
VALUES (current_tenant(), %(message_id)s, %(session_id)s, %(binding_id)s, 'outbound', 'ignored', 'whatsapp', 'code',
        %(body)s, %(now)s, %(now)s, true)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: insert_link
-- A code was asked for; those that the visitor asked for before are good no more. is_new: the number's user was made
-- for a code, this one or an earlier one.
WITH earlier AS (
    UPDATE phone_links SET expires_at = %(now)s
     WHERE user_id = %(user_id)s AND linked_at IS NULL AND expires_at > %(now)s AND id <> %(link_id)s
)
INSERT INTO phone_links (tenant_id, id, user_id, binding_id, session_id, contact_id, is_contact_new, message_id, phone,
                         code_hash, consented_at, expires_at, created_at, address)
SELECT current_tenant(), %(link_id)s, %(user_id)s, %(binding_id)s, %(session_id)s, %(contact_id)s,
       %(is_new)s OR EXISTS (SELECT FROM phone_links l WHERE l.contact_id = %(contact_id)s AND l.is_contact_new),
       %(message_id)s, %(phone)s, %(code_hash)s, %(now)s, %(expires_at)s, %(now)s, NULLIF(%(address)s, '')
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: record_attempt
-- One try at a code that is still good; it counts, whatever comes of it.
UPDATE phone_links
   SET attempt_count = attempt_count + 1
 WHERE id = %(link_id)s AND user_id = %(user_id)s AND linked_at IS NULL AND expires_at > %(now)s AND attempt_count < %(most)s
RETURNING code_hash, attempt_count, contact_id;

-- name: find_completed_link
-- A link that came about, as whoever asked for it or turned out to be asks again: under the very same code.
SELECT l.contact_id, l.binding_id, l.session_id
  FROM phone_links l
  JOIN users u ON u.id = l.user_id
 WHERE l.id = %(link_id)s AND l.linked_at IS NOT NULL AND l.code_hash = %(code_hash)s
   AND %(user_id)s::uuid IN (u.id, u.merged_into);

-- name: lock_link
-- The link whose code was right, held until the transaction ends, if it has not come about yet.
SELECT id, user_id, binding_id, session_id, contact_id, phone, message_id
  FROM phone_links
 WHERE id = %(link_id)s AND user_id = %(user_id)s AND linked_at IS NULL AND code_hash = %(code_hash)s
   FOR UPDATE;

-- name: lock_sessions
-- The visitor's conversations, held until the transaction ends, and until when workers answer in them: what those write
-- is written as the visitor's.
SELECT id, lease_until FROM sessions WHERE user_id = %(user_id)s ORDER BY id FOR UPDATE;

-- name: lock_main_session
-- The session in which the phone writes to a binding, held: what is being stored there is there before the next
-- statement.
SELECT id FROM sessions WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND is_main FOR UPDATE;

-- name: is_session_empty
-- Whether nothing was ever said in a session but the code.
SELECT NOT EXISTS (SELECT FROM messages m WHERE m.session_id = s.id AND m.kind <> 'code') AS unspoken
  FROM sessions s WHERE s.id = %(session_id)s;

-- name: can_be_main
-- Whether a conversation is about nothing in particular, so that all that the phone writes may go there.
SELECT entity_id IS NULL AS may FROM sessions WHERE id = %(session_id)s;

-- name: delete_session
-- A session in which nothing was said goes.
DELETE FROM sessions WHERE id = %(session_id)s;

-- name: make_main_session
-- The conversation on the web goes on as the one on the phone.
UPDATE sessions SET is_main = true WHERE id = %(session_id)s;

-- name: find_main_session
-- The session in which the phone writes.
SELECT id FROM sessions WHERE user_id = %(user_id)s AND binding_id = %(binding_id)s AND is_main;

-- name: supersede_duplicate_facts
-- Of two facts in one place the one that was last said or confirmed stays; the other ends where it began. Facts beside
-- each other under one key are in one place if they say the same.
WITH pairs AS (
    SELECT a.id AS one, b.id AS other, (a.last_confirmed_at, a.confidence, a.id) > (b.last_confirmed_at, b.confidence, b.id) AS first_stays
      FROM facts a
      JOIN facts b ON b.binding_id = a.binding_id AND b.key = a.key
           AND (num_nonnulls(a.member, b.member) = 0 OR lower(a.value) = lower(b.value))
     WHERE a.user_id = %(user_id)s AND b.user_id = %(into)s AND a.scope = 'user' AND b.scope = 'user'
       AND a.valid_until IS NULL AND b.valid_until IS NULL
), doubles AS (
    SELECT CASE WHEN first_stays THEN other ELSE one END AS ends, CASE WHEN first_stays THEN one ELSE other END AS stays
      FROM pairs
)
UPDATE facts f
   SET valid_until = GREATEST(f.valid_from, s.valid_from), end_reason = 'merged', superseded_by = s.id
  FROM doubles d
  JOIN facts s ON s.id = d.stays
 WHERE f.id = d.ends;

-- name: move_facts
-- What is known of the visitor is known of the phone's user.
UPDATE facts SET user_id = %(into)s WHERE user_id = %(user_id)s;

-- name: move_decisions
-- So is why.
UPDATE fact_decisions SET user_id = %(into)s WHERE user_id = %(user_id)s;

-- name: move_episodes
-- And what they lived through.
UPDATE episodes SET user_id = %(into)s WHERE user_id = %(user_id)s;

-- name: move_sessions
-- The visitor's conversations are the phone's user's; a main one stays so only where there is none yet. So are the
-- questions that the visitor is asked, whose rights are compared with the answer, and what they allowed for longer.
WITH asked AS (
    UPDATE approvals SET user_id = %(into)s WHERE user_id = %(user_id)s
), allowed AS (
    UPDATE approval_grants
       SET user_id = %(into)s,
           granted_by = CASE granted_by WHEN 'user:' || %(user_id)s::uuid THEN 'user:' || %(into)s::uuid ELSE granted_by END
     WHERE user_id = %(user_id)s
)
UPDATE sessions s
   SET user_id = %(into)s,
       is_main = s.is_main AND NOT EXISTS (SELECT FROM sessions m WHERE m.user_id = %(into)s AND m.is_main
                                                                    AND m.binding_id = s.binding_id)
 WHERE s.user_id = %(user_id)s;

-- name: delete_duplicate_identities
-- A channel knows one address of a person; the visitor's go where the phone's user has one. A member's earlier number is
-- nobody's from now on.
DELETE FROM channel_identities v
 WHERE v.user_id = %(user_id)s
   AND (EXISTS (SELECT FROM channel_identities p WHERE p.user_id = %(into)s AND p.channel = v.channel)
        OR v.channel <> 'web' AND EXISTS (SELECT FROM users u WHERE u.id = v.user_id AND u.phone IS NOT NULL));

-- name: move_created_records
-- What the visitor created is the user's own, also what no member has accepted yet.
WITH links AS (
    UPDATE edges SET created_by = 'user:' || %(into)s::uuid WHERE created_by = 'user:' || %(user_id)s::uuid
), papers AS (
    UPDATE documents SET unverified_by = 'user:' || %(into)s::uuid WHERE unverified_by = 'user:' || %(user_id)s::uuid
), rows AS (
    UPDATE context_rows r
       SET metadata = CASE WHEN r.metadata ->> 'by' = 'user:' || %(user_id)s::uuid
                           THEN jsonb_set(r.metadata, '{by}', to_jsonb('user:' || %(into)s::uuid)) ELSE r.metadata END,
           unverified_by = CASE WHEN r.unverified_by IS NOT NULL THEN 'user:' || %(into)s::uuid END
     WHERE r.unverified_by = 'user:' || %(user_id)s::uuid
        OR r.kind = 'delta' AND r.metadata ->> 'by' = 'user:' || %(user_id)s::uuid
           AND r.entity_id IN (SELECT id FROM entities WHERE created_by = 'user:' || %(user_id)s::uuid)
)
UPDATE entities SET created_by = 'user:' || %(into)s::uuid,
                    updated_by = CASE WHEN updated_by = created_by THEN 'user:' || %(into)s::uuid ELSE updated_by END,
                    unverified_by = CASE WHEN unverified_by IS NOT NULL THEN 'user:' || %(into)s::uuid END
 WHERE created_by = 'user:' || %(user_id)s::uuid;

-- name: move_identities
-- The others are the phone's user's.
UPDATE channel_identities SET user_id = %(into)s WHERE user_id = %(user_id)s;

-- name: merge_user_details
-- The phone's user is called what the visitor was, if nothing else is known; of two clearances the lower holds, where
-- either has one of their own: whoever has none sees what the binding does.
UPDATE users p
   SET display_name = COALESCE(p.display_name, v.display_name), locale = COALESCE(p.locale, v.locale),
       clearance = CASE WHEN num_nonnulls(p.clearance, v.clearance) > 0
                        THEN LEAST(COALESCE(p.clearance, b.clearance), COALESCE(v.clearance, b.clearance)) END
  FROM users v, bindings b
 WHERE p.id = %(into)s AND v.id = %(user_id)s AND b.id = %(binding_id)s;

-- name: move_merged_users
-- Who turned out to be the visitor before is the phone's user, too.
UPDATE users SET merged_into = %(into)s WHERE merged_into = %(user_id)s;

-- name: mark_user_merged
-- The visitor is the phone's user from now on; their own row only leads there.
UPDATE users SET merged_into = %(into)s, display_name = NULL, locale = NULL, phone = NULL, member_id = NULL,
                 token_epoch = token_epoch + 1
 WHERE id = %(user_id)s;

-- name: set_member
-- The member who linked the phone talks as its user, with the member's clearance.
UPDATE users u SET member_id = m.id, clearance = m.clearance FROM members m
 WHERE u.id = %(user_id)s AND m.id = %(member_id)s;

-- name: complete_link
-- The link came about; the code's words go, and nobody has to look after it.
WITH wiped AS (
    UPDATE messages m SET body = '' FROM phone_links l WHERE l.id = %(link_id)s AND m.id = l.message_id
), settled AS (
    DELETE FROM work_due WHERE tenant_id = current_tenant() AND kind = 'phone_link' AND id = %(link_id)s
)
UPDATE phone_links SET linked_at = %(now)s WHERE id = %(link_id)s;

-- name: find_code_expiry
-- When a code that nobody gave back is good no more; null for one that was, no row for one that is gone.
SELECT CASE WHEN linked_at IS NULL THEN expires_at END AS expires_at FROM phone_links WHERE id = %(link_id)s FOR UPDATE;

-- name: erase_code_text
-- The words of a code that is over go.
UPDATE messages m SET body = '' FROM phone_links l WHERE l.id = %(link_id)s AND m.id = l.message_id;

-- name: lock_contact
-- Whom a code was sent to with their conversations, held: what they are writing is there before the next statement.
SELECT s.id
  FROM phone_links l
  JOIN users u ON u.id = l.contact_id
  JOIN sessions s ON s.user_id = u.id
 WHERE l.id = %(link_id)s AND l.is_contact_new
 ORDER BY s.id
   FOR UPDATE OF u, s;

-- name: delete_unused_contact
-- A user who was made only to send a code to, and who was never heard of, goes again.
DELETE FROM users u
 USING phone_links l
 WHERE l.id = %(link_id)s AND u.id = l.contact_id AND l.is_contact_new
   AND NOT EXISTS (SELECT FROM messages m JOIN sessions s ON s.id = m.session_id
                    WHERE s.user_id = u.id AND m.kind <> 'code')
   AND NOT EXISTS (SELECT FROM users v WHERE v.merged_into = u.id)
   AND NOT EXISTS (SELECT FROM phone_links o WHERE o.contact_id = u.id AND o.id <> l.id AND o.linked_at IS NULL
                                               AND o.expires_at > %(now)s);
