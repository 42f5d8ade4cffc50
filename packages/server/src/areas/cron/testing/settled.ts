import { setTimeout as delay } from "node:timers/promises"
import type { Svc } from "@svc/sdk"

/** Receivers of tests are on this machine. */
export const LOCAL = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }

const UNTIL_MS_MAX = 20_000

/** Waits for what cannot be waited for otherwise. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const endMs = Date.now() + UNTIL_MS_MAX
  while (!(await holds())) {
    if (Date.now() > endMs) throw new Error(`never: ${what}`)
    await delay(10)
  }
}

/** The executions of a schedule, the newest first, once there are so many and none of them is unfinished. */
export const settled = async (svc: Svc, id: string, count = 1) => {
  const read = async () => (await svc.cron.executions({ id })).data
  let executions = await read()
  await until("all executions are finished", async () => {
    executions = await read()
    return (
      executions.length >= count &&
      executions.every(({ status }) => status !== "queued" && status !== "running")
    )
  })
  return executions
}
