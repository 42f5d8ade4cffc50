import type { CronTargetOf } from "@svc/contract"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import { parseJson } from "../../kernel/exact-json.ts"
import type { ScheduleRow } from "./store.ts"

export interface SealedTarget {
  readonly target: CronTargetOf
  readonly signingSecret: string
}

type Row = Pick<ScheduleRow, "id" | "organization_id">

const contextOf = ({ id }: Row): string => `cron:${id}`

export const sealTarget = (box: SecretBox, row: Row, sealed: SealedTarget): Promise<string> =>
  box.seal(row.organization_id, contextOf(row), JSON.stringify(sealed))

export const openTarget = async (
  box: SecretBox,
  row: Row & Pick<ScheduleRow, "target">,
): Promise<SealedTarget> =>
  parseJson(await box.open(row.organization_id, contextOf(row), row.target)) as SealedTarget
