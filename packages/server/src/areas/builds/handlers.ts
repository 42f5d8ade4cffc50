import { areas, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { implement } from "../../kernel/implement.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { type CreateInput, imageNameOf, lineOf, payloadOf, type UploadInput } from "./payloads.ts"
import {
  checkArgs,
  checkAsked,
  checkRepository,
  newBuild,
  newBuildId,
  parseArgs,
  type QueueNeeds,
  queueBuild,
} from "./requests.ts"
import { buildStore } from "./store.ts"
import { receiveUpload } from "./upload.ts"

export interface HandlerNeeds extends QueueNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly outbound: Pick<Outbound, "urlProblem">
  /** Of references to images in this installation's registry. */
  readonly host: string
  /** A build was cancelled: whoever runs it stops. */
  readonly cancelled: (call: Call, id: string) => Promise<void>
}

const LINES_DEFAULT = 500

const uploadHandler = (needs: HandlerNeeds) => async (given: UploadInput, call: Call) => {
  checkAsked(given)
  const args = parseArgs(given.build_args)
  const id = newBuildId(call)
  const row = await newBuild(call, needs.box, id, { ...given, args })
  const staged = await receiveUpload(call, needs.blob, id)
  try {
    await staged.publish()
    await needs.database.transaction(tx => queueBuild(tx, needs, row, staged.address))
  } catch (error) {
    await staged.discard()
    throw error
  }
  call.describe({ targets: [{ type: "build", id, name: imageNameOf(row) }] })
  return payloadOf(row, needs.host)
}

const createHandler = (needs: HandlerNeeds) => async (given: CreateInput, call: Call) => {
  checkAsked(given)
  const args = checkArgs(given.build_args ?? {})
  const repository = checkRepository(given, url => needs.outbound.urlProblem(url))
  const id = newBuildId(call)
  const row = await newBuild(call, needs.box, id, { ...given, args, from: { ...given, repository } })
  await queueBuild(call.db, needs, row)
  call.describe({ targets: [{ type: "build", id, name: imageNameOf(row) }] })
  return payloadOf(row, needs.host)
}

export const buildHandlers = implement(areas.builds, (needs: HandlerNeeds) => ({
  create: createHandler(needs),
  upload: uploadHandler(needs),

  async list(input, call) {
    const { projectId } = call.projectTenant
    const status = input.status?.toUpperCase()
    const { rows, total } = await buildStore(call.db).list(projectId, status, pageOf(input))
    return page({ rows: rows.map(row => payloadOf(row, needs.host)), total }, input)
  },

  async get({ id }, call) {
    const found = buildStore(call.db).find(call.projectTenant.projectId, id)
    return payloadOf(await requireRow(found, "build_not_found", { id }), needs.host)
  },

  async logs({ id, cursor, limit = LINES_DEFAULT }, call) {
    const { projectId } = call.projectTenant
    const store = buildStore(call.db)
    // Before the lines: once it is over, none follows those that are read now.
    const { status } = await requireRow(store.find(projectId, id), "build_not_found", { id })
    const lines = await store.listLines(projectId, id, Number(cursor ?? 0), limit)
    const last = lines.at(-1)?.number
    return {
      logs: lines.map(lineOf),
      next_cursor: last === undefined ? (cursor ?? null) : String(last),
      status,
    }
  },

  async cancel({ id }, call) {
    const { projectId, organizationId } = call.projectTenant
    const store = buildStore(call.db)
    const change = { status: "CANCELLED", status_reason: "it was cancelled", auth_token: null } as const
    const isCancelled = await store.advance(projectId, id, { ...change, finished_at: call.now }, call.now)
    const row = await requireRow(store.find(projectId, id), "build_not_found", { id })
    if (isCancelled) {
      await needs.cancelled(call, id)
      await needs.platformEvents.emit(call.db, {
        ...{ organizationId, projectId, type: "build.cancelled" },
        data: { build_id: id, image: null },
      })
    }
    call.describe({ targets: [{ type: "build", id, name: imageNameOf(row) }] })
    return payloadOf(row, needs.host)
  },
}))
