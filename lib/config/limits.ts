/** The limits of calls to a model where `llm` in config.json says nothing else: a day's cap, and the time for an answer. */
export const CALL_LIMITS = { dailyBudgetUsd: 1, timeoutMs: 30_000 }; // promised
