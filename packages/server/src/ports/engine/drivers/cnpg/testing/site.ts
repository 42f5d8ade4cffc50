/** A namespace of Kubernetes for a test, with the operator in it, and engines that use it. */
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Ends } from "../../../../../testing/ends.ts"
import { type FakeKubernetes, startFakeKubernetes } from "../../../../kubernetes/testing/kubernetes.ts"
import type { EnginePort } from "../../../port.ts"
import { openLocalEngine } from "../../local/driver.ts"
import { type CnpgOptions, openCnpgEngine } from "../driver.ts"
import { startFront } from "./front.ts"
import { type FakeOperator, startFakeOperator } from "./operator.ts"

export interface TestSite {
  /** Of what runs in place of pods. */
  readonly dataDir: string
  readonly kubernetes: FakeKubernetes
  readonly operator: FakeOperator
  /** What runs in place of pods. */
  readonly pods: EnginePort
  open(options?: Partial<CnpgOptions>): Promise<EnginePort>
}

export const backup = {
  objectStore: { destinationPath: "s3://history/", endpointURL: "http://store:9000" },
  snapshotClass: "fast",
}

export const testSite = async (t: Ends): Promise<TestSite> => {
  const namespace = "databases"
  const dataDir = await mkdtemp(join(tmpdir(), "svc-cnpg-"))
  // Database servers run as other users, and would be placed elsewhere, and left there, if these could not pass.
  await chmod(dataDir, 0o711)
  const templatesDir = process.env.SVC_TEST_TEMPLATES
  const pods = await openLocalEngine({ dataDir, templatesDir, log: () => undefined })
  const kubernetes = await startFakeKubernetes(namespace)
  const front = await startFront(namespace, host => operator.socketOf(host))
  const operator = startFakeOperator(kubernetes, pods, front.ca)
  const engines: EnginePort[] = []
  t.after(async () => {
    for (const opened of [...engines, operator, front, kubernetes, pods]) await opened[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  })
  return {
    ...{ dataDir, kubernetes, operator, pods },
    async open(options) {
      const engine = await openCnpgEngine({
        ...{ apiUrl: kubernetes.url, token: kubernetes.token, namespace, backup },
        reach: () => ({ host: "127.0.0.1", port: front.port }),
        ...{ stateTimeoutMs: 60_000, copyTimeoutMs: 60_000, pollMs: 20 },
        ...options,
      })
      engines.push(engine)
      return engine
    },
  }
}
