import type { WorkloadKind } from "../../services/serving/workload.ts"

export const functionKind: WorkloadKind = { hostname: "function", noun: "the function" }
/** Where its code is shown. */
export const CODE_FOLDER = "/var/task"
