/** Names of transcripts and of repositories. What is found of other machines: golden/synced-transcripts.txt. */

import { describe, expect, test } from "bun:test";
import { linesName } from "../lib/hosts/names.ts";
import { normalizeRemote } from "../lib/sessions/project.ts";

const OWN = "11111111-1111-4111-8111-111111111111";

describe("linesName", () => {
  test.each([
    `${OWN}.jsonl`,
    "agent-a1b2c3d.jsonl",
    "agent-acompact-fffbd0.jsonl",
    `2026-02-03T14-30-00-000Z_${OWN}.jsonl`,
    "2026-02-03T14-30-00-000Z_merge-conflict-2.jsonl",
    `rollout-2026-02-03T14-30-00-${OWN}.jsonl`,
    "discord.jsonl",
  ])("takes %s for a session", (name) => {
    expect(linesName(name)).toBe(name);
  });
});

describe("normalizeRemote", () => {
  test.each([
    "git@github.com:acme/shop.git",
    "github.com:acme/shop",
    "https://github.com/acme/shop",
    "https://x-access-token:ghs_0123456789@GitHub.com/Acme/Shop.git",
    "https://github.com:443//acme/shop.git?ref=main",
    "git+ssh://git@github.com/acme/shop.git",
  ])("makes github.com/acme/shop of %s", (address) => {
    expect(normalizeRemote(address)).toBe("github.com/acme/shop");
  });

  test("keeps what tells servers and repositories apart", () => {
    expect(
      [
        "ssh://git@git.example.com:2222/Team/App.git",
        "https://git.example.com/Team/App.git",
        "https://git.example.com:443/Team/App.git",
        "https://git.example.com:8443/Team/App.git",
        "https://dev.azure.com/acme/shop/_git/shop",
        "git@ssh.dev.azure.com:v3/acme/shop/shop",
        "ssh://git@[::1]:22/acme/shop",
      ].map(normalizeRemote),
    ).toEqual([
      "git.example.com/Team/App",
      "git.example.com/Team/App",
      "git.example.com/Team/App",
      "git.example.com:8443/Team/App",
      "dev.azure.com/acme/shop/_git/shop",
      "ssh.dev.azure.com/v3/acme/shop/shop",
      "[::1]/acme/shop",
    ]);
  });

  test.each([
    "/srv/git/shop.git",
    "../shop",
    "file:///srv/git/shop.git",
    "C:\\code\\shop",
    "C:/code/shop",
    "",
    "origin",
  ])("has no name for %p, which is another thing on every machine", (address) => {
    expect(normalizeRemote(address)).toBeUndefined();
  });
});
