/** What webhooks are told of functions. */
import type { NewPlatformEvent } from "../../core/platform-events/platform-events.ts"
import type { FunctionError } from "./frames.ts"
import type { DeployedRow } from "./store.ts"

type FunctionIdentity = Pick<DeployedRow, "id" | "name" | "organization_id" | "project_id">
export type FailureEvent = NewPlatformEvent<"function.invocation.failed">

const ERROR_LENGTH_MAX = 500

const ownerOf = ({ organization_id, project_id }: FunctionIdentity) => ({
  organizationId: organization_id,
  projectId: project_id,
})

export const eventOf = (
  type: "function.deployed" | "function.deleted",
  of: FunctionIdentity,
): NewPlatformEvent<typeof type> => ({
  ...{ ...ownerOf(of), type },
  data: { function_id: of.id, name: of.name },
})

export const failureOf = (
  of: FunctionIdentity,
  invocationId: string,
  error: Pick<FunctionError, "type" | "message"> | null,
): FailureEvent => ({
  ...{ ...ownerOf(of), type: "function.invocation.failed" },
  data: {
    ...{ function_id: of.id, name: of.name, invocation_id: invocationId },
    error: error ? `${error.type}: ${error.message}`.slice(0, ERROR_LENGTH_MAX) : "it failed",
  },
})
