#!/usr/bin/env node
// Runs the command from its sources: bundles it when they have changed, then becomes it. One process, so that a signal to it
// reaches the command.
import { pathToFileURL } from "node:url"
import { ensureBundle } from "./build.mjs"

await import(pathToFileURL(await ensureBundle()).href)
