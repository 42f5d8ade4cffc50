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
  "Exactly one of `cron`, `interval_seconds` and `run_at` says when. A time that a change of the clock leaves out runs " +
  "once when the gap ends; one that comes twice runs at the first; patterns with `*` or steps follow real time."
const OVERLAP =
  "`overlap_policy` says what happens to a run that is due while another is unfinished: `skip` (the default) leaves it " +
  "out, `buffer_one` lets one wait, `buffer_all` lets all wait, `allow_all` runs them together, `cancel_other` ends the " +
  "other."
const CATCH_UP =
  "`catchup_policy` says what happens to runs that are more than ten seconds late: `latest` (the default) runs the last " +
  "of them, `all` each, `none` none; those later than `catchup_window_seconds` (3600) are missed."

const WHEN = ["cron", "interval_seconds", "run_at"] as const

export const cron = area(
  "cron",
  { title: "Cron", summary: "Work at set times", project: "optional", belongs: "project" },
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
        `${TIMES} ${OVERLAP} ${CATCH_UP} A key needs the scope of what the target does: \`database:query\` for sql, ` +
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
    update: {
      id: "updateCronSchedule",
      http: "PUT /v1/cron/schedules/{id}",
      summary: "Change a schedule",
      description:
        "What is left out stays. `enabled: false` pauses it: what waits still runs, and what would have been due " +
        "meanwhile is not made up for.",
      scope: "cron:write",
      effect: "write",
      risk: "by-input",
      idempotent: "naturally",
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
      summary: "Delete a schedule with its history, and cancel what waits or runs",
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
      description: "The newest 1,000 are kept, for 30 days.",
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
      beyond: true,
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
      beyond: true,
      id: "cancelCronExecution",
      http: "POST /v1/cron/schedules/{id}/executions/{execution_id}/cancel",
      summary: "Cancel an execution that waits or runs",
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
        "Also while it is paused, and beside a run that is unfinished. The reply does not wait for the end; read the " +
        "execution for how it went.",
      scope: "cron:write",
      effect: "write",
      params: One,
      replies: { 200: Execution },
      faults: ["schedule_not_found"],
    },
    preview: {
      beyond: true,
      id: "previewCron",
      http: "POST /v1/cron/preview",
      summary: "Tell when a cron expression would run",
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
