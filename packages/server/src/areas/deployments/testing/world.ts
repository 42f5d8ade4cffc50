import type { Svc } from "@svc/sdk"
import type { Ends } from "../../../testing/ends.ts"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, type PlatformOptions, platform } from "../../../testing/platform.ts"
import type { RunWorld } from "../../run-services/testing/world.ts"

export type Deployment = Awaited<ReturnType<Svc["deployments"]["get"]>>
type Input = Parameters<Svc["deployments"]["create"]>[0]

export const deploymentWorld = async (t: Ends, options: PlatformOptions = {}): Promise<RunWorld> => {
  const p = await platform(t, options)
  const { secret } = await p.key("acme", everyScope)
  return { platform: p, svc: p.as(secret), secret }
}

/** A program for Node, whoever has the image. */
export const program = (code: string): Pick<Input, "image" | "command" | "memory_mb" | "vcpus"> => ({
  ...{ image: "host-rootfs", command: ["node", "-e", code], memory_mb: 128, vcpus: 0.25 },
})

/** It answers its version. */
export const versioned = (version: string) =>
  program(`require("http").createServer((_, r) => r.end("${version}")).listen(process.env.PORT)`)

export const whenever = (
  { svc }: Pick<RunWorld, "svc">,
  id: string,
  what: string,
  holds: (found: Deployment) => boolean,
): Promise<Deployment> => eventually(what, () => svc.deployments.get({ id }), holds)

export const running = (world: Pick<RunWorld, "svc">, id: string): Promise<Deployment> =>
  whenever(world, id, "the deployment runs", ({ status }) => status === "RUNNING")

/** Asks one after the other until it is stopped, and tells all that was answered. */
export const load = (ask: () => Promise<{ readonly status?: number | undefined; readonly text: string }>) => {
  const seen: string[] = []
  let isOver = false
  const one = async () => {
    while (!isOver) {
      const { status, text } = await ask()
      seen.push(status === 200 ? text : `${status}: ${text}`)
    }
  }
  const all = Promise.all(Array.from({ length: 4 }, one))
  return async (): Promise<readonly string[]> => {
    isOver = true
    await all
    return seen
  }
}
