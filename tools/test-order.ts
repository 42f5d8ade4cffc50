/** Which test files run, and in which order. */
import { join, relative, resolve } from "node:path"

/**
 * Suites of engines that an installation has only by a setting or by what is on its machine, and of endurance. They
 * take minutes and rarely change, so they have a run of their own (`npm run test:engines`).
 */
export const isEngineSuite = (file: string): boolean => file.endsWith(".engine.test.ts")

/** They go first, so that none is left running alone at the end. From the list that a run prints; minutes matter, seconds do not. */
const LONGEST = [
  "ports/runtime/network.engine.test.ts",
  "testing/fuzz.test.ts",
  "ports/runtime/qemu.engine.test.ts",
  "core/accounts/accounts.test.ts",
  "ports/runtime/gvisor.engine.test.ts",
  "areas/advice/optimize/optimize.test.ts",
  "ports/engine/cnpg.engine.test.ts",
  "testing/derived.test.ts",
  "process.test.ts",
  "areas/sql/statement.test.ts",
  "ports/runtime/kubernetes.engine.test.ts",
  "areas/databases/use.test.ts",
  "ports/runtime/bubblewrap.engine.test.ts",
  "ports/engine/local.test.ts",
  "areas/events/durability.test.ts",
  "areas/databases/access.test.ts",
  "areas/databases/databases.test.ts",
  "areas/functions/limits.test.ts",
  "core/audit/audit.test.ts",
  "ports/engine/drivers/local/endurance/transfers.engine.test.ts",
].map(path => join("packages/server/src", path))

const place = (file: string): number => {
  const found = LONGEST.indexOf(relative(resolve(import.meta.dirname, ".."), resolve(file)))
  return found === -1 ? LONGEST.length : found
}

export const longestFirst = (files: readonly string[]): string[] =>
  [...files].sort().sort((a, b) => place(a) - place(b))
