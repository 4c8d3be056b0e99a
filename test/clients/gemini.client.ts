import { testTold } from "./told.ts";

await testTold("gemini");
