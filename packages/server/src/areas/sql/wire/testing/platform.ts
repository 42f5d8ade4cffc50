/** A wire before some clusters, and what it told. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { atEnd } from "../../../../kernel/db/embedded/testing/directories.ts"
import { createLog } from "../../../../kernel/log.ts"
import { openTcpListener } from "../../../../kernel/tcp-listener.ts"
import { ownCertificate } from "../../../../services/postgres/certificate.ts"
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { WireActivity, WireCall, WireTarget } from "../messages.ts"
import type { VerifierRequest } from "../verifiers.ts"
import { createWire, type Wire, type WireNeeds } from "../wire.ts"
import { PASSWORD, type TestCluster } from "./cluster.ts"

/** Waits until a fact holds, for at most a minute. */
export const until = async (what: string, holds: () => unknown): Promise<void> => {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`never came true: ${what}`)
    await delay(10)
  }
}

export interface TestWire {
  readonly wire: Wire & { readonly port: number }
  readonly calls: WireCall[]
  readonly activity: WireActivity[]
  /** The URL that leads to a branch by the name of the user. */
  url(branchId: string): string
  /** A client of the branch, connected, ended with the test. */
  connect(branchId: string, config?: pg.ClientConfig): Promise<pg.Client>
}

/** Reads verifiers of the clusters, as a platform does of its branches. */
export const verifierIn =
  (clusters: readonly TestCluster[]) =>
  async ({ branchId, user }: VerifierRequest): Promise<string | undefined> =>
    clusters.find(cluster => cluster.branchId === branchId)?.verifier(user)

/** What signs the certificates of tests. */
export const AUTHORITY_SECRET = Buffer.alloc(32, "authority")

let certificates: string | undefined

/** One certificate serves all tests of a file. */
const certificate = () => {
  if (certificates === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "svc-wire-cert-"))
    certificates = folder
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  }
  return ownCertificate({ folder: certificates, host: "localhost", authoritySecret: AUTHORITY_SECRET })
}

const closing = (listener: AsyncDisposable, close: () => PromiseLike<void>) => async () => {
  await listener[Symbol.asyncDispose]()
  await close()
}

/** A wire that knows the clusters, on a port of its own; closed with the test. */
export const startWire = async (
  t: TestContext,
  clusters: readonly TestCluster[],
  needs: Partial<WireNeeds> = {},
): Promise<TestWire> => {
  const calls: WireCall[] = []
  const activity: WireActivity[] = []
  const log = createLog("silent")
  const served = createWire({
    requireTls: "remote",
    tls: certificate,
    log,
    async open({ branchId, user }): Promise<WireTarget> {
      const found = clusters.find(cluster => cluster.branchId === branchId)
      if (found) return { socketPath: found.socketPath, wakeMs: 0, connectionsMax: 50 }
      throw new WireRefusal({ sqlstate: SQLSTATE.wrongPassword, message: `no branch for ${user}` })
    },
    activity: events => void activity.push(...events),
    calls: seen => void calls.push(...seen),
    ...needs,
  })
  const listener = await openTcpListener({
    host: "127.0.0.1",
    port: 0,
    pausesSockets: true,
    server: async () => served.accept,
    log,
  })
  const wire = Object.assign(served, {
    port: listener.port,
    [Symbol.asyncDispose]: closing(listener, served[Symbol.asyncDispose]),
  })
  const clients: pg.Client[] = []
  atEnd(t, async () => {
    await Promise.allSettled(clients.map(client => client.end()))
    await wire[Symbol.asyncDispose]()
  })
  return {
    wire,
    calls,
    activity,
    url: branchId => `postgresql://owner.${branchId}:${PASSWORD}@127.0.0.1:${wire.port}/app`,
    async connect(branchId, config = {}) {
      const client = new pg.Client({
        host: "127.0.0.1",
        port: wire.port,
        user: `owner.${branchId}`,
        password: PASSWORD,
        database: "app",
        ...config,
      })
      client.on("error", () => undefined)
      clients.push(client)
      await client.connect()
      return client
    },
  }
}
