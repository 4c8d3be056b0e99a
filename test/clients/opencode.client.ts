import { testTold } from "./told.ts";

await testTold("opencode");
