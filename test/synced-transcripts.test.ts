/** Names of transcripts and of repositories. What is found of other machines: golden/synced-transcripts.txt. */

import { describe, expect, test } from "bun:test";
import { normalizeRemote } from "../lib/sessions/project.ts";

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
