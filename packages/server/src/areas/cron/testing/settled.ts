import type { Svc } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"

/** Receivers of tests are on this machine. */
export const LOCAL = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }

/** The executions of a schedule, the newest first, once there are so many and none of them is unfinished. */
export const settled = (svc: Svc, id: string, count = 1) =>
  eventually("all executions are finished", async () => {
    const { data } = await svc.cron.executions({ id })
    const isUnfinished = data.some(({ status }) => status === "queued" || status === "running")
    return data.length >= count && !isUnfinished && data
  })
