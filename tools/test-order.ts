/** Test files that take longest go first, so that none of them is left running alone at the end. */
import { join, relative, resolve } from "node:path"

/** From the list that a run of all prints; minutes matter here, seconds do not. */
const LONGEST = [
  "ports/runtime/network.test.ts",
  "testing/fuzz.test.ts",
  "ports/runtime/qemu.test.ts",
  "core/accounts/accounts.test.ts",
  "ports/runtime/gvisor.test.ts",
  "areas/databases/advice/optimize/optimize.test.ts",
  "ports/engine/cnpg.test.ts",
  "testing/derived.test.ts",
  "process.test.ts",
  "areas/databases/sql/statement.test.ts",
  "ports/runtime/kubernetes.test.ts",
  "areas/databases/use.test.ts",
  "ports/runtime/bubblewrap.test.ts",
  "ports/engine/local.test.ts",
  "areas/events/durability.test.ts",
  "areas/databases/access.test.ts",
  "areas/databases/databases.test.ts",
  "areas/functions/limits.test.ts",
  "core/audit/audit.test.ts",
  "ports/engine/drivers/local/endurance/transfers.test.ts",
].map(path => join("packages/server/src", path))

const place = (file: string): number => {
  const found = LONGEST.indexOf(relative(resolve(import.meta.dirname, ".."), resolve(file)))
  return found === -1 ? LONGEST.length : found
}

export const longestFirst = (files: readonly string[]): string[] =>
  [...files].sort().sort((a, b) => place(a) - place(b))
