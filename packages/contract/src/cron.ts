import {
  CronExpression,
  cronAliases,
  cronExecutionStatuses,
  cronFields,
  Execution,
  NewSchedule,
  Schedule,
  Timezone,
} from "./cron-fields.ts"
import { area, T } from "./dsl.ts"
import {
  atMostOne,
  described,
  eitherOr,
  exactlyOne,
  Id,
  Name,
  OneOf,
  Page,
  PageQuery,
  pageQuery,
  Time,
} from "./types.ts"

const One = T.Object({ id: Id })
const OneExecution = T.Object({ id: Id, execution_id: Id })

const WRITE_FAULTS = [
  "invalid_parameter",
  "missing_parameter",
  "missing_scope",
  "name_taken",
  "not_implemented",
  "database_not_found",
  "function_not_found",
  "topic_not_found",
  "template_not_found",
  "plan_limit_reached",
] as const

const TIMES =
  "Exactly one of `cron`, `interval_seconds` and `run_at` is required. A time that a clock change skips runs " +
  "once when the gap ends; one that occurs twice runs the first time; patterns with `*` or steps follow elapsed time."
const OVERLAP =
  "`overlap_policy` says what happens to a run that is due while another is unfinished: `skip` (the default) drops " +
  "it, `buffer_one` queues one, `buffer_all` queues all, `allow_all` runs them together, `cancel_other` cancels the " +
  "other."
const CATCH_UP =
  "`catchup_policy` says what happens to runs that are more than ten seconds late: `latest` (the default) runs the last " +
  "of them, `all` each, `none` none; those later than `catchup_window_seconds` (3600 by default) are missed."

const WHEN = ["cron", "interval_seconds", "run_at"] as const

export const cron = area(
  "cron",
  {
    title: "Cron",
    summary: "Schedules that send requests, run SQL, invoke functions and more at set times",
    project: "optional",
    belongs: "project",
  },
  {
    list: {
      id: "listCronSchedules",
      http: "GET /v1/cron/schedules",
      summary: "List schedules",
      scope: "cron:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Schedule) },
    },
    create: {
      id: "createCronSchedule",
      http: "POST /v1/cron/schedules",
      summary: "Create a schedule",
      description:
        `${TIMES} ${OVERLAP} ${CATCH_UP} A key also needs the scope of the target: \`database:query\` for sql, ` +
        "`events:publish` for topic, `email:send` for email, `functions:invoke` for function.",
      scope: "cron:write",
      effect: "write",
      risk: "by-input",
      body: T.Object(
        { ...cronFields, name: Name },
        eitherOr(exactlyOne(...WHEN), exactlyOne("target", "function_name")),
      ),
      aliases: cronAliases,
      replies: { 201: NewSchedule },
      secrets: ["signing_secret"],
      faults: WRITE_FAULTS,
      example: {
        name: "nightly",
        cron: "0 3 * * *",
        timezone: "Europe/Berlin",
        target: { type: "http", url: "https://example.com/nightly", body: { full: true } },
      },
    },
    get: {
      id: "getCronSchedule",
      http: "GET /v1/cron/schedules/{id}",
      summary: "Read a schedule",
      scope: "cron:read",
      effect: "read",
      params: One,
      replies: { 200: Schedule },
      faults: ["schedule_not_found"],
    },
    replace: {
      id: "updateCronSchedule",
      http: "PUT /v1/cron/schedules/{id}",
      summary: "Replace a schedule",
      description:
        "All fields are replaced, and fields that are left out get their defaults. The id, the signing secret and the " +
        "executions do not change.",
      scope: "cron:write",
      effect: "write",
      risk: "by-input",
      idempotency: "natural",
      params: One,
      body: T.Object(
        { ...cronFields, name: Name },
        eitherOr(exactlyOne(...WHEN), exactlyOne("target", "function_name")),
      ),
      aliases: cronAliases,
      replies: { 200: Schedule },
      faults: ["schedule_not_found", ...WRITE_FAULTS],
      example: {
        name: "nightly",
        cron: "0 4 * * *",
        target: { type: "http", url: "https://example.com/nightly" },
      },
    },
    update: {
      extension: true,
      id: "patchCronSchedule",
      http: "PATCH /v1/cron/schedules/{id}",
      summary: "Change fields of a schedule",
      description:
        "Fields that are left out do not change. `enabled: false` pauses it: queued executions still run, and runs that would have been due " +
        "meanwhile are not caught up on.",
      scope: "cron:write",
      effect: "write",
      risk: "by-input",
      idempotency: "natural",
      params: One,
      body: T.Object(cronFields, eitherOr(atMostOne(...WHEN), atMostOne("target", "function_name"))),
      aliases: cronAliases,
      replies: { 200: Schedule },
      faults: ["schedule_not_found", ...WRITE_FAULTS],
      example: { enabled: false },
    },
    delete: {
      id: "deleteCronSchedule",
      http: "DELETE /v1/cron/schedules/{id}",
      summary: "Delete a schedule and its history; queued and running executions are cancelled",
      scope: "cron:write",
      effect: "destroy",
      params: One,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["schedule_not_found"],
    },
    executions: {
      id: "listCronExecutions",
      http: "GET /v1/cron/schedules/{id}/executions",
      summary: "List the executions of a schedule, newest first",
      description: "The newest 1,000 are stored, for 30 days.",
      scope: "cron:read",
      effect: "read",
      params: One,
      query: T.Object({
        ...pageQuery,
        status: T.Optional(OneOf(cronExecutionStatuses, { description: "Only executions with this status" })),
      }),
      replies: { 200: Page(Execution) },
      faults: ["schedule_not_found"],
    },
    getExecution: {
      extension: true,
      id: "getCronExecution",
      http: "GET /v1/cron/schedules/{id}/executions/{execution_id}",
      summary: "Read an execution",
      scope: "cron:read",
      effect: "read",
      params: OneExecution,
      replies: { 200: Execution },
      faults: ["schedule_not_found", "execution_not_found"],
    },
    cancelExecution: {
      extension: true,
      id: "cancelCronExecution",
      http: "POST /v1/cron/schedules/{id}/executions/{execution_id}/cancel",
      summary: "Cancel a queued or running execution",
      scope: "cron:write",
      effect: "write",
      params: OneExecution,
      replies: { 200: Execution },
      faults: ["schedule_not_found", "execution_not_found", "invalid_state_transition"],
    },
    trigger: {
      id: "triggerCronSchedule",
      http: "POST /v1/cron/schedules/{id}/trigger",
      summary: "Run a schedule at once, outside its times",
      description:
        "Works while it is paused, and beside an unfinished run. The reply does not wait for the end; read the " +
        "execution for its result.",
      scope: "cron:write",
      effect: "write",
      params: One,
      replies: { 200: Execution },
      faults: ["schedule_not_found"],
    },
    preview: {
      extension: true,
      id: "previewCron",
      http: "POST /v1/cron/preview",
      summary: "Show when a cron expression would run",
      scope: "cron:read",
      effect: "read",
      body: T.Object({
        cron: CronExpression,
        timezone: T.Optional(Timezone),
        after: T.Optional(described(Time, "RFC 3339 time to start from; now when left out")),
        count: T.Optional(
          T.Integer({ minimum: 1, maximum: 50, default: 5, description: "Number of times to return" }),
        ),
      }),
      aliases: cronAliases,
      replies: {
        200: T.Object({
          cron: T.String({ description: "The expression" }),
          timezone: T.String({ description: "Time zone in which it was read" }),
          next_runs: T.Array(Time, { description: "RFC 3339 times in UTC of the next runs" }),
        }),
      },
      faults: ["invalid_parameter"],
      example: { cron: "0 3 * * 1-5", timezone: "Europe/Berlin" },
    },
  },
)
