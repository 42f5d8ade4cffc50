/** Several processes of one installation, which reach each other. */
import type { Ends } from "./ends.ts"
import { platform, type TestPlatform } from "./platform.ts"
import { freePort } from "./ports.ts"

type Env = Readonly<Record<string, string>>

/** How often hosts hear of each other. */
const HEARD_MS = 5_000

/** Hosts that have heard of each other, with settings of their own. */
export const hostsOf = async (t: Ends, ...envs: readonly Env[]): Promise<TestPlatform[]> => {
  const hosts: TestPlatform[] = []
  for (const env of envs) {
    const port = await freePort()
    const reached = {
      SVC_PORT: String(port),
      SVC_PEER_URL: `http://127.0.0.1:${port}`,
      SVC_SANDBOX_POOL: "0",
    }
    const [first] = hosts
    const databaseUrl = first?.database.pool.options.connectionString
    // By clocks that differ by more than half a minute one would take the other for gone.
    const shared = first && databaseUrl ? { databaseUrl, startMs: first.clock.now() } : {}
    hosts.push(await platform(t, { env: { ...reached, ...env }, ...shared }))
  }
  for (const host of hosts) await host.clock.advance(HEARD_MS)
  return hosts
}
