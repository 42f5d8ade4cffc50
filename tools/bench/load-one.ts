/** A process of its own that loads one thing and prints what that took: an area beside what every start loads, a package alone. */
const [kind, name = ""] = process.argv.slice(2)

const bytesInUse = (): number => {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const loaderOf = async (): Promise<() => Promise<unknown> | undefined> => {
  if (kind !== "area") return () => import(name)
  const { modules } = await import("../../packages/server/src/modules.ts")
  await import("../../packages/server/src/platform.ts")
  return () => modules.find(module => module.name === name)?.load()
}

const load = await loaderOf()
const before = bytesInUse()
const from = process.cpuUsage()
await load()
const { user, system } = process.cpuUsage(from)
process.stdout.write(
  JSON.stringify({ cpuMs: (user + system) / 1000, bytes: Math.max(0, bytesInUse() - before) }),
)

export {}
