/** Lists the topics of past conversation. */

import { type Line, linesWithin } from "../base/output.ts";
import { type SearchResources, withFreshIndex } from "./fresh-index.ts";

/** The least passages of a topic that is listed. */
const TOPIC_PASSAGES_MIN = 2; // promised
const MAX_CHARS = 4000; // promised

/** Returns the topics that several passages have, most frequent first, with the numbers of their chunks and sessions. */
export async function sessionTopics(
  resources: SearchResources,
  { subagents = false, maxChars = MAX_CHARS }: { subagents?: boolean; maxChars?: number | undefined } = {},
): Promise<{ topics: { topic: string; chunks: number; sessions: number }[]; lines: Line[] }> {
  return await withFreshIndex(resources, async ({ store }) => {
    const topics = store
      .all(
        `SELECT value AS topic, count(*) AS chunks, count(DISTINCT session_id) AS sessions
         FROM session_chunks, json_each(topic_tags)
         WHERE session_id IN (SELECT id FROM own_sessions WHERE $subagents OR parent_id IS NULL)
         GROUP BY value HAVING count(*) >= $passages ORDER BY chunks DESC, topic`,
        { passages: TOPIC_PASSAGES_MIN, subagents: Number(subagents) },
      )
      .map(({ topic, chunks, sessions }) => ({
        topic: String(topic),
        chunks: Number(chunks),
        sessions: Number(sessions),
      }));
    const lines = topics.map(({ topic, chunks, sessions }): Line => {
      const counts = ` ${chunks}${sessions > 1 ? ` (${sessions} sessions)` : ""}`;
      return { kind: "text", parts: [["name", topic], counts] };
    });
    return { topics, lines: linesWithin(lines, maxChars) };
  });
}
