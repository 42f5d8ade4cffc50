import { createHash } from "node:crypto"
import { type areas, CONSENT_HISTORY_MAX, type Output, page, pageOf } from "@svc/contract"
import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { actorOf } from "./actor.ts"
import { type Correction, FULFIL, type Fulfilment, type FulfilmentJob, subjectOf } from "./fulfilment.ts"
import type { Subject } from "./personal/statements.ts"
import { type ConsentRow, type ReportLine, type RequestRow, requestStore } from "./requests-store.ts"
import { memberStore } from "./store.ts"

type Specs = typeof areas.compliance.specs
type RequestPayload = Output<Specs["getRequest"]>
type Kind = RequestPayload["kind"]
type Status = RequestPayload["status"]

interface SubjectInput {
  readonly type: "end_user" | "member"
  readonly id?: string
  readonly email?: string
}

export interface GdprNeeds {
  readonly jobs: Pick<Jobs, "enqueue">
  readonly blob: BlobPort
  readonly baseUrl: string
  readonly fulfilment: Fulfilment
}

const callBlobs = translatePortErrors({
  missing: () => fault("gdpr_request_not_found"),
  unavailable: serviceUnavailable("the store of files does not respond"),
})

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** The same day of the next month, or its last. */
export const monthAfter = (at: Date): Date => {
  const next = new Date(at)
  next.setUTCDate(1)
  next.setUTCMonth(next.getUTCMonth() + 1)
  const last = new Date(Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 0)).getUTCDate()
  next.setUTCDate(Math.min(at.getUTCDate(), last))
  return next
}

const toRequest = (row: RequestRow, baseUrl: string): RequestPayload => ({
  ...{ id: row.id, kind: row.kind as Kind, status: row.status as Status },
  subject: {
    type: row.subject_type as SubjectInput["type"],
    ids: row.subject_ids,
    email: row.subject_email,
    email_sha256: row.subject_email_hash?.toString("hex") ?? null,
  },
  ...{ details: row.details, note: row.note },
  requested_by: row.requested_by as RequestPayload["requested_by"],
  received_at: row.received_at.toISOString(),
  due_at: row.due_at.toISOString(),
  started_at: toIso(row.started_at),
  completed_at: toIso(row.completed_at),
  report: row.report as RequestPayload["report"],
  failure: row.failure,
  archive:
    row.archive_address === null || row.archive_expires_at === null
      ? null
      : {
          download_url: `${baseUrl}/v1/compliance/gdpr/requests/${row.id}/archive`,
          bytes: row.archive_bytes ?? 0,
          sha256: row.archive_sha256?.toString("hex") ?? null,
          expires_at: row.archive_expires_at.toISOString(),
        },
})

const toConsents = ({ marketing, analytics, ai_training }: ConsentRow) => ({
  marketing,
  analytics,
  ai_training,
})

const toConsent = (rows: readonly ConsentRow[]): Output<Specs["getConsent"]> => {
  const [current] = rows
  return {
    consents: current ? toConsents(current) : { marketing: false, analytics: false, ai_training: false },
    policy_version: current?.policy_version ?? null,
    updated_at: toIso(current?.updated_at),
    updated_by: current?.updated_by ?? null,
    history: rows.map(row => ({
      consents: toConsents(row),
      policy_version: row.policy_version,
      updated_at: row.updated_at.toISOString(),
      updated_by: row.updated_by,
    })),
  }
}

/** The person who calls, where none is named. */
const subjectAsked = (given: SubjectInput | undefined, { principal: { user } }: Call): SubjectInput => {
  if (given) {
    if (given.id === undefined && given.email === undefined)
      throw fault("invalid_parameter", { reason: "a subject needs an `id` or an `email`" })
    return given
  }
  if (!user) throw fault("invalid_parameter", { reason: "this key speaks for no person: name the `subject`" })
  return { type: "member", id: user.id, email: user.email }
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  pending: ["in_progress"],
  in_progress: ["completed", "rejected"],
}

type Operations = Extract<
  keyof Specs,
  | "listRequests"
  | "createRequest"
  | "getRequest"
  | "updateRequestStatus"
  | "downloadArchive"
  | "gdprExport"
  | "gdprDelete"
  | "gdprCorrect"
  | "getConsent"
  | "updateConsent"
>

export const gdprHandlers = ({
  jobs,
  blob,
  baseUrl,
  fulfilment,
}: GdprNeeds): Pick<Handlers<Specs>, Operations> => {
  /** Everything that leads to the person, within the organization. */
  const find = async ({ db, organization }: Call, { type, id, email }: SubjectInput): Promise<Subject> => {
    const named: Subject = {
      organizationId: organization.id,
      ids: id === undefined ? [] : [id.toLowerCase()],
      emails: email === undefined ? [] : [email.toLowerCase()],
    }
    return type === "member" ? memberStore(db).identify(named) : fulfilment.find(db, named)
  }

  const newRow = async (
    call: Call,
    kind: Kind,
    asked: SubjectInput,
    more: Partial<RequestRow>,
  ): Promise<RequestRow> => {
    const subject = await find(call, asked)
    const email = asked.email?.toLowerCase() ?? subject.emails[0] ?? null
    return {
      ...{ id: newId(call.now.getTime()), organization_id: call.organization.id, kind, status: "pending" },
      subject_type: asked.type,
      subject_email: email,
      subject_email_hash: email === null ? null : sha256(email),
      subject_ids: [...subject.ids],
      subject_emails: [...subject.emails],
      ...{ details: null, note: null, requested_by: actorOf(call) },
      received_at: call.now,
      due_at: monthAfter(call.now),
      ...{ started_at: null, completed_at: null, report: [], failure: null },
      ...{ archive_address: null, archive_bytes: null, archive_sha256: null, archive_expires_at: null },
      ...more,
    }
  }

  const describe = (call: Call, { id, kind }: Pick<RequestRow, "id" | "kind">, metadata: object = {}) =>
    call.describe({ targets: [{ type: "gdpr_request", id }], metadata: { kind, ...metadata } })

  const insert = async (call: Call, row: RequestRow): Promise<RequestRow> => {
    await requestStore(call.db).insert({ ...row, requested_by: actorOf(call) })
    describe(call, row)
    return row
  }

  /** A member goes through the removal, which says what becomes of their keys, before what is left of them. */
  const checkMayErase = async ({ db }: Call, row: RequestRow) => {
    if (await memberStore(db).hasMember(row.organization_id, row.subject_ids))
      throw fault("invalid_state_transition", { state: "a member of the organization" })
  }

  const begin = async (call: Call, row: RequestRow, note: string | null) => {
    if (row.kind === "erasure") await checkMayErase(call, row)
    const { organization_id: organizationId, id: requestId } = row
    const change = { status: "in_progress", started_at: call.now, note }
    await requestStore(call.db).update(organizationId, requestId, change)
    const payload: FulfilmentJob = { organizationId, requestId }
    if (row.kind !== "rectification")
      await jobs.enqueue(call.db, { queue: FULFIL, tenantId: organizationId, payload, dedupeKey: requestId })
    return { ...row, ...change }
  }

  const answer = (row: RequestRow) => {
    const request = toRequest(row, baseUrl)
    const { download_url = null, expires_at = null } = request.archive ?? {}
    return { request, download_url, expires_at }
  }

  const findRequest = ({ db, organization }: Call, id: string) =>
    requireRow(requestStore(db).find(organization.id, id), "gdpr_request_not_found", { id })

  const lockRequest = ({ db, organization }: Call, id: string) =>
    requireRow(requestStore(db).findForUpdate(organization.id, id), "gdpr_request_not_found", { id })

  return {
    async listRequests(input, { db, organization }) {
      const { rows, total } = await requestStore(db).list(organization.id, pageOf(input))
      return page({ rows: rows.map(row => toRequest(row, baseUrl)), total }, input)
    },

    async createRequest({ kind, subject, details }, call) {
      const row = await newRow(call, kind, subjectAsked(subject, call), { details: details ?? null })
      return toRequest(await insert(call, row), baseUrl)
    },

    getRequest: async ({ id }, call) => toRequest(await findRequest(call, id), baseUrl),

    async updateRequestStatus({ id, status, note = null }, call) {
      const row = await lockRequest(call, id)
      if (!NEXT[row.status]?.includes(status)) throw fault("invalid_state_transition", { state: row.status })
      describe(call, row, { status_before: row.status, status })
      if (status === "in_progress") return toRequest(await begin(call, row, note), baseUrl)
      const change = { status, note, completed_at: call.now }
      await requestStore(call.db).update(row.organization_id, row.id, change)
      return toRequest({ ...row, ...change }, baseUrl)
    },

    async downloadArchive({ id }, call) {
      const row = await findRequest(call, id)
      const { archive_address: address } = row
      if (address === null || (row.archive_expires_at ?? call.now) <= call.now)
        throw fault("gdpr_request_not_found", { id })
      const body = await callBlobs(() => blob.read(row.organization_id, address))
      call.setHeader("content-type", "application/zip")
      call.setHeader("content-disposition", `attachment; filename="personal-data-${id}.zip"`)
      return body
    },

    async gdprExport({ subject }, call) {
      const row = await newRow(call, "access", subjectAsked(subject, call), {})
      const known = await requestStore(call.db).findExport(row, call.now)
      if (known) return answer(known)
      return answer(await begin(call, await insert(call, row), null))
    },

    async gdprDelete({ subject }, call) {
      const row = await newRow(call, "erasure", subjectAsked(subject, call), {})
      return answer(await begin(call, await insert(call, row), null))
    },

    async gdprCorrect({ subject, corrections, reason = null }, call) {
      const row = await newRow(call, "rectification", subjectAsked(subject, call), { details: reason })
      const report: ReportLine[] = await fulfilment.correct(
        call.db,
        subjectOf(row),
        corrections satisfies readonly Correction[],
      )
      const done = { status: "completed", started_at: call.now, completed_at: call.now }
      await insert(call, { ...row, ...done })
      await requestStore(call.db).writeReport(row.organization_id, row.id, report)
      return answer({ ...row, ...done, report })
    },

    getConsent: async (_, { db, organization }) =>
      toConsent(await requestStore(db).consents(organization.id, CONSENT_HISTORY_MAX)),

    async updateConsent({ consents, policy_version }, call) {
      const { db, organization, principal, now } = call
      const store = requestStore(db)
      const [current] = await store.consents(organization.id, 1)
      const before = {
        marketing: false,
        analytics: false,
        ai_training: false,
        ...(current && toConsents(current)),
      }
      await store.insertConsent({
        ...{ id: newId(now.getTime()), organization_id: organization.id, ...before, ...consents },
        policy_version: policy_version ?? current?.policy_version ?? null,
        ...{ updated_by: principal.id, updated_at: now },
      })
      call.describe({ metadata: { before, consents, policy_version } })
      return toConsent(await store.consents(organization.id, CONSENT_HISTORY_MAX))
    },
  }
}
