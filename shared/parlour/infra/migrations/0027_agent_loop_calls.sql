-- The last calls of a tenant's agent loops are looked at whenever people look at what needs attention.
CREATE INDEX llm_calls_agent_loop ON llm_calls (tenant_id, binding_id, model, at DESC) WHERE provider = 'function';
