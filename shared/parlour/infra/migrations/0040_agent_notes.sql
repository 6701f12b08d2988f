-- Agents' notes are items and records now. Assumptions, expectations and hypotheses are read by nothing. The owner
-- changes all tenants here.
ALTER TABLE agent_states NO FORCE ROW LEVEL SECURITY;
UPDATE agent_states SET state = state - 'assumptions' - 'expectations' - 'tentative_hypotheses'
 WHERE state ?| ARRAY['assumptions', 'expectations', 'tentative_hypotheses'];
ALTER TABLE agent_states FORCE ROW LEVEL SECURITY;
