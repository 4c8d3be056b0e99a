/** Loads the files it is given: run on another runtime, it tells whether they can be read there. */

import { pathToFileURL } from "node:url";

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
