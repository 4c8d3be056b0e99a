/** Questions on the committed transcripts, each with words that its answer holds; without an answer: never discussed. */

import { FIXTURES } from "../../support/fixtures.ts";

export interface OwnQuestion {
  phrasings: string[];
  answer?: { session: string; holds: string };
}

const { claude, pi, codex, plain } = FIXTURES;

export const OWN_QUESTIONS: OwnQuestion[] = [
  {
    phrasings: ["what did Jason say about posting frequency"],
    answer: { session: claude.posting.id, holds: "at least one post a day on X, never more than three" },
  },
  {
    phrasings: ["when do we publish each day?", "post schedule time 09:00", "daily posting hour decision"],
    answer: { session: claude.posting.id, holds: "we post once a day at 09:00" },
  },
  { phrasings: ["social.md"], answer: { session: claude.posting.id, holds: "docs/social.md" } },
  {
    phrasings: ["does Bluesky need the same rhythm"],
    answer: { session: claude.fork.id, holds: "three posts a week are enough" },
  },
  {
    phrasings: ["why was the staging container unhealthy", "health check wrong port"],
    answer: { session: claude.deploy.id, holds: "listens on 8081" },
  },
  {
    phrasings: ["migration 0042"],
    answer: { session: claude.deploy.id, holds: "Migration 0042 has not run yet" },
  },
  {
    phrasings: ["shop:rollback"],
    answer: { session: claude.deploy.id, holds: "shop:rollback until Friday" },
  },
  {
    phrasings: ["warum war der Login-Test in der CI rot"],
    answer: { session: claude.login.id, holds: "wartet nach dem Klick nicht auf die Weiterleitung" },
  },
  { phrasings: ["waitForURL"], answer: { session: claude.login.id, holds: "page.waitForURL" } },
  { phrasings: ["wait for URL"], answer: { session: claude.login.id, holds: "page.waitForURL" } },
  {
    phrasings: ["uber die Weiterleitung gewartet", "Laufe alle grun"],
    answer: { session: claude.login.id, holds: "Zwanzig Läufe" },
  },
  { phrasings: ["checkout pay.ts"], answer: { session: claude.legacy.id, holds: "src/checkout/pay.ts" } },
  {
    phrasings: ["switch all servers at once or one by one?"],
    answer: { session: pi.deploy.id, holds: "switch all servers at once or one after the other" },
  },
  {
    phrasings: ["web-2 1.8.0 error rate"],
    answer: { session: pi.deploy.id, holds: "web-1 and web-2 run 1.8.0" },
  },
  {
    phrasings: ["session cookie set after the redirect"],
    answer: { session: pi.login.id, holds: "always when the session cookie is set after the redirect" },
  },
  {
    phrasings: ["when are invoices sent", "cron first working day invoice job"],
    answer: { session: pi.invoice.id, holds: "the month's first working day" },
  },
  {
    phrasings: ["flaky because the token expiry was compared with the wall clock"],
    answer: { session: codex.login.id, holds: "compared with the wall clock" },
  },
  {
    phrasings: ["deploy script set -eu stop when a step fails"],
    answer: { session: codex.deploy.id, holds: "set -eu" },
  },
  {
    phrasings: ["why could the customer not pay by card"],
    answer: { session: plain.support.id, holds: "declined by the bank" },
  },
  { phrasings: ["who owns the imprint"], answer: { session: plain.standup.id, holds: "Nobody yet" } },
  {
    phrasings: ["what did we talk about on 9 December 2025"],
    answer: { session: pi.login.id, holds: "cookie" },
  },
  { phrasings: ["which Kubernetes ingress controller did we pick"] },
  { phrasings: ["redis sentinel failover settings", "redis high availability", "sentinel quorum"] },
  { phrasings: ["quarterly tax report for the accountant"] },
];
