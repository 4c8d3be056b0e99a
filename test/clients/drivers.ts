/** How clients without a test file of their own are started, and what they call their tools and the tools' arguments. */

import { join } from "node:path";
import { write } from "../support/home.ts";
import type { ClientHome } from "./client.ts";

interface Driver {
  /** The arguments that run a prompt, and those that every run takes. */
  prompt(text: string): string[];
  flags: readonly string[];
  env(url: string): Record<string, string>;
  tools: { shell: string; read: string; edit: string };
  names: { file: string; from: string; to: string };
}

export const DRIVERS = {
  copilot: {
    prompt: (text) => ["-p", text],
    flags: ["--allow-all-tools", "--allow-all-paths"],
    env: (url) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_MODEL: "made-up",
    }),
    tools: { shell: "bash", read: "view", edit: "edit" },
    names: { file: "path", from: "old_str", to: "new_str" },
  },
  qwen: {
    prompt: (text) => ["-p", text],
    flags: ["--yolo", "--auth-type", "openai"],
    env: (url) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: "made-up",
      OPENAI_MODEL: "made-up",
    }),
    tools: { shell: "run_shell_command", read: "read_file", edit: "edit" },
    names: { file: "file_path", from: "old_string", to: "new_string" },
  },
  gemini: {
    prompt: (text) => ["-p", text],
    flags: ["--yolo", "--skip-trust", "-m", "gemini-2.5-flash"],
    env: (url) => ({ GEMINI_API_KEY: "made-up", GOOGLE_GEMINI_BASE_URL: url }),
    tools: { shell: "run_shell_command", read: "read_file", edit: "replace" },
    names: { file: "file_path", from: "old_string", to: "new_string" },
  },
  opencode: {
    prompt: (text) => ["run", text],
    flags: ["-m", "fake/made-up"],
    env: (url) => ({
      OPENCODE_CONFIG_CONTENT: opencodeConfig(url),
    }),
    tools: { shell: "bash", read: "read", edit: "edit" },
    names: { file: "filePath", from: "oldString", to: "newString" },
  },
  kimi: {
    prompt: (text) => ["-p", text],
    flags: [],
    env: () => ({}),
    tools: { shell: "Bash", read: "Read", edit: "Edit" },
    names: { file: "path", from: "old_string", to: "new_string" },
  },
} as const satisfies Record<string, Driver>;

/** Writes the settings with which these clients ask the model at an address. */
export function writeClientSettings({ home }: ClientHome, url: string): void {
  const gemini = { security: { auth: { selectedType: "gemini-api-key" } } };
  write(join(home, ".gemini", "settings.json"), JSON.stringify(gemini));
  write(join(home, ".kimi-code", "config.toml"), kimiConfig(url));
}

/** What opencode's variable for its settings holds. */
function opencodeConfig(url: string): string {
  return JSON.stringify({
    permission: "allow",
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        options: { baseURL: `${url}/v1`, apiKey: "made-up" },
        models: { "made-up": { name: "made-up", limit: { context: 100_000, output: 4000 } } },
      },
    },
  });
}

const kimiConfig = (url: string) => `default_model = "made-up"
[models.made-up]
provider = "fake"
model = "made-up"
max_context_size = 100000
[providers.fake]
type = "openai"
base_url = "${url}"
api_key = "made-up"
`;
