import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Database, Tx } from "../../kernel/db/database.ts"
import type { Job, JobContext, Jobs } from "../../kernel/jobs/jobs.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { GitProviderName } from "../../ports/git/port.ts"
import { type EventRow, eventStore } from "./event-store.ts"
import type { PushBuilder, PushToBuild } from "./offers.ts"
import { bringsCommits, noveltyOf, passesBranches, passesPaths } from "./rules.ts"
import { type IntegrationRow, integrationStore } from "./store.ts"

const EVENT_QUEUE = "integrations.event"

interface Payload {
  readonly organizationId: string
  readonly integrationId: string
  readonly eventId: string
}

export const eventJobs = (organizationId: string, integrationId: string, eventIds: readonly string[]) =>
  eventIds.map(eventId => ({
    queue: EVENT_QUEUE,
    tenantId: organizationId,
    payload: { organizationId, integrationId, eventId } satisfies Payload,
    // A branch's pushes are taken in the order in which they came.
    orderingKey: integrationId,
  }))

interface ProcessingNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly platformEvents: PlatformEvents
  readonly pushes: Offer<PushBuilder>
  readonly now: () => number
}

type EventDecision =
  | { readonly status: "processed"; readonly buildId: string | null }
  | { readonly status: "ignored"; readonly reason: string; readonly isNew?: boolean }

const ignored = (reason: string, isNew = false): EventDecision => ({ status: "ignored", reason, isNew })

const toPush = (integration: IntegrationRow, { ref, commit, pull_request }: EventRow): PushToBuild => ({
  ...{ organizationId: integration.organization_id, projectId: integration.project_id },
  ...{ integrationId: integration.id, provider: integration.provider as GitProviderName },
  ...{ repository: integration.repository, installationId: integration.installation_id },
  ...{ ref: ref ?? "", commit: commit ?? "" },
  pullRequest: (pull_request as { number: number } | null)?.number ?? null,
  build: integration.build as PushToBuild["build"],
  deployTarget: integration.auto_deploy ? (integration.deploy_target as PushToBuild["deployTarget"]) : null,
})

type Judge = (tx: Tx, integration: IntegrationRow, event: EventRow) => Promise<EventDecision>

/** Decides what becomes of an event, and does it. */
const createJudge = ({ platformEvents, pushes, now }: ProcessingNeeds): Judge => {
  const build = async (tx: Tx, integration: IntegrationRow, event: EventRow): Promise<string | null> =>
    (await (await pushes.get())?.onPush(tx, toPush(integration, event))) ?? null

  const judgePush = async (tx: Tx, integration: IntegrationRow, event: EventRow): Promise<EventDecision> => {
    const { organization_id: organizationId, id } = integration
    const { ref, commit, commit_before: before } = event
    const store = eventStore(tx)
    if (ref === null) return ignored("it names no branch or tag")
    if (commit === null) {
      await store.deleteHeads(organizationId, id, [ref])
      return ignored("the branch or tag was deleted")
    }
    if (event.source !== "replay") {
      const head = await store.head(organizationId, id, ref)
      const novelty = noveltyOf(head?.commit, { commit, before }, await store.moves(organizationId, id, ref))
      // What a filter leaves out is known all the same, and what was seen by looking is where the branch is.
      if (novelty !== "late" || event.source === "poll") {
        const known_at = new Date(now())
        await store.putHeads([{ organization_id: organizationId, integration_id: id, ref, commit, known_at }])
      }
      if (novelty === "known") return ignored("this commit is known already")
      if (novelty === "late") return ignored("the branch has moved on since")
    }
    if (!passesBranches(integration.branch_filter, ref)) return ignored("branch_filter leaves it out", true)
    const filter = { include: integration.path_include, exclude: integration.path_exclude }
    if (!passesPaths(filter, event.paths as string[] | null))
      return ignored("path_filter leaves it out", true)

    const buildId = integration.auto_build ? await build(tx, integration, event) : null
    await platformEvents.emit(tx, {
      ...{ organizationId, projectId: integration.project_id, type: "integration.push" },
      data: {
        ...{ integration_id: id, provider: integration.provider as GitProviderName },
        ...{ repository: integration.repository, ref, commit, build_id: buildId },
      },
    })
    return { status: "processed", buildId }
  }

  const judgePullRequest = async (
    tx: Tx,
    integration: IntegrationRow,
    event: EventRow,
  ): Promise<EventDecision> => {
    const { organization_id: organizationId, id } = integration
    const { ref, commit } = event
    const action = (event.pull_request as { action: string } | null)?.action ?? ""
    if (!integration.preview) return ignored("preview is off")
    if (ref === null || commit === null || !bringsCommits(action)) return ignored("it brings no commits")
    const isKnown = await eventStore(tx).isBuilt(organizationId, id, ref, commit)
    if (isKnown && event.source !== "replay") return ignored("this commit is known already")
    return { status: "processed", buildId: await build(tx, integration, event) }
  }

  return async (tx, integration, event) => {
    if (integration.status === "paused") return ignored("the integration is paused")
    // One secret may serve all hooks of an organization.
    if (event.repository.toLowerCase() !== integration.repository.toLowerCase())
      return ignored("it is about another repository")
    return event.type === "pull_request"
      ? judgePullRequest(tx, integration, event)
      : judgePush(tx, integration, event)
  }
}

/** Processes, once, what was received. */
export const defineProcessing = (needs: ProcessingNeeds): void => {
  const { database, jobs, now } = needs
  const judge = createJudge(needs)

  const process = ({ organizationId, integrationId, eventId }: Payload) =>
    database.transaction(async tx => {
      const integration = await integrationStore(tx).findForUpdate(organizationId, integrationId)
      const event = await eventStore(tx).find(organizationId, integrationId, eventId)
      if (!integration || event?.status !== "received") return
      const verdict = await judge(tx, integration, event)
      // A push that is replayed moved its branch when it came.
      const isNew = event.source !== "replay" || event.type === "pull_request"
      await eventStore(tx).update(organizationId, eventId, {
        ...(verdict.status === "processed"
          ? { status: "processed", build_id: verdict.buildId, is_new: isNew }
          : { status: "ignored", reason: verdict.reason, is_new: verdict.isNew ?? false }),
        processed_at: new Date(now()),
      })
    })

  const giveUp = async ({ organizationId, integrationId, eventId }: Payload) => {
    await eventStore(database.db).update(organizationId, eventId, {
      ...{ status: "failed", reason: "it could not be processed", processed_at: new Date(now()) },
    })
    // The next look must see the branch, though it did not change since the last.
    await integrationStore(database.db).update(organizationId, integrationId, { poll_etag: null })
  }

  jobs.define<Payload>({
    name: EVENT_QUEUE,
    perTenantConcurrency: 4,
    async run({ payload, isLastAttempt }: Job<Payload>, _context: JobContext) {
      try {
        await process(payload)
      } catch (error) {
        if (isLastAttempt) await giveUp(payload)
        throw error
      }
    },
  })
}
