/** How a command that failed tells so, and with which exit code. */
import { ApprovalPending, SvcError } from "@svc/sdk"
import { printable, toJson } from "./output.ts"
import { exitCodes, type Terminal, UsageError } from "./terminal.ts"

/** Prints the failure and gives the exit code. Rethrows what is no failure of the command but a defect. */
export const reportFailure = (error: unknown, json: boolean, { err }: Terminal): number => {
  if (error instanceof UsageError) {
    err.line(`svc: ${printable(error.message)}`)
    if (error.about !== undefined) err.line(`see: svc help ${error.about}`.trimEnd())
    return exitCodes.usage
  }
  if (error instanceof SvcError) {
    if (json) err.line(toJson(jsonOf(error)))
    else for (const line of linesOf(error)) err.line(line)
    return exitCodeOf(error)
  }
  if (error instanceof Error && "syscall" in error) {
    err.line(`svc: ${printable(error.message)}`)
    return exitCodes.usage
  }
  throw error
}

const exitCodeOf = (error: SvcError): number => {
  if (error instanceof ApprovalPending) return exitCodes.approvalPending
  return error.status === 0 ? exitCodes.network : exitCodes.refused
}

/** What the platform told beside the message. */
const detailsOf = ({ details = {} }: SvcError): readonly (readonly [string, string])[] =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, typeof value === "string" ? value : toJson(value)])

/** The words of the wire. */
const jsonOf = (error: SvcError) => ({
  code: error.code,
  error: error.message,
  docs_url: error.docsUrl,
  request_id: error.requestId,
  errors: error.errors,
  details: error.details,
  approval: error instanceof ApprovalPending ? error.approval : undefined,
})

const linesOf = (error: SvcError): readonly string[] =>
  [
    `svc: ${error.message} (${error.code})`,
    ...(error.errors ?? []).map(({ location, message }) => `  ${location}: ${message}`),
    ...detailsOf(error).map(([name, value]) => `  ${name}: ${value}`),
    ...(error.requestId ? [`  request id  ${error.requestId}`] : []),
    ...(error.docsUrl ? [`  docs        ${error.docsUrl}`] : []),
    ...(error instanceof ApprovalPending ? [`  then run    svc approvals get ${error.approval.id}`] : []),
  ].map(printable)
