/** Which test files run, and in which order. */

/**
 * Suites of what stands behind the ports, each engine with its own promises and its endurance: servers of tenants, QEMU,
 * Docker, Redis, Kubernetes … They take minutes and change with their drivers only, so they have a run of their own
 * (`npm run test:engines`); what users see of the engines of a default installation is in the tests of the areas.
 */
export const isEngineSuite = (file: string): boolean => file.endsWith(".engine.test.ts")

/** They go first, so that none is left running alone at the end. From the list that a run prints; minutes matter, seconds do not. */
const LONGEST = [
  "ports/runtime/network.engine.test.ts",
  "ports/runtime/gvisor.engine.test.ts",
  "ports/engine/cnpg.engine.test.ts",
  "ports/runtime/qemu.engine.test.ts",
  "ports/engine/local.engine.test.ts",
  "ports/runtime/kubernetes.engine.test.ts",
  "local/confine.engine.test.ts",
  "testing/fuzz.test.ts",
  "disk/quota.test.ts",
  "optimize/optimize.test.ts",
  "testing/derived.test.ts",
  "databases/use.test.ts",
  "databases/databases.test.ts",
  "src/durability.test.ts",
  "vectors/durability.test.ts",
  "embedded/start.test.ts",
  "sql/statement.test.ts",
  "src/process.test.ts",
]

const place = (file: string): number => {
  const found = LONGEST.findIndex(end => file.endsWith(`/${end}`))
  return found === -1 ? LONGEST.length : found
}

export const longestFirst = (files: readonly string[]): string[] =>
  [...files].sort().sort((a, b) => place(a) - place(b))
