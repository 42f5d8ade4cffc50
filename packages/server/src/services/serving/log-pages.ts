/** What programs printed, as their owners read it. */
import type { areas, Input, ProgramLogStream } from "@svc/contract"
import type { LogOwner, LogRow } from "./log-store.ts"
import type { ProgramLogs } from "./logs.ts"

const LOG_LINES_DEFAULT = 100

type LogInput = Omit<Input<(typeof areas.deployments.specs)["logs"]>, "id">

const toLine = ({ at, stream, message, instance_id }: LogRow) => ({
  timestamp: at.toISOString(),
  stream: stream as ProgramLogStream,
  message,
  instance_id,
})

export const readLogPage = async (
  logs: Pick<ProgramLogs, "list">,
  owner: LogOwner,
  { limit, after, instance_id, stream, search, since, until }: LogInput,
) => {
  const lines = await logs.list(owner, {
    limit: limit ?? LOG_LINES_DEFAULT,
    ...(after !== undefined && { after }),
    ...(instance_id !== undefined && { instanceId: instance_id }),
    ...(stream !== undefined && { stream }),
    ...(search !== undefined && { text: search.replaceAll("\0", "") }),
    ...(since !== undefined && { since: new Date(since) }),
    ...(until !== undefined && { until: new Date(until) }),
  })
  return { data: lines.map(toLine), cursor: String(lines.at(-1)?.id ?? after ?? 0) }
}
