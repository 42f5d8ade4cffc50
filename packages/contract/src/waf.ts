import { area, T } from "./dsl.ts"
import { FIELD_FAULT, Id, Name, Nullable, OneOf, Page, PageQuery, Time } from "./types.ts"

export const WAF_RULES_MAX = 100
export const WAF_PATTERN_LENGTH_MAX = 1_024
/** Of an expression, as compiled, in instructions: the longest that it can take is their number times the length of the text. */
export const WAF_PROGRAM_SIZE_MAX = 500
/** Of one that is looked for in bodies, which are longer than all else. */
export const WAF_BODY_PROGRAM_SIZE_MAX = 150
export const WAF_EVENTS_PAGE_MAX = 100
export const WAF_EVENTS_KEPT = 100_000
export const WAF_EVENT_DAYS = 30
export const WAF_STATS_SECONDS = 86_400
export const WAF_BODY_BYTES = 131_072

export const wafTargets = [
  "path",
  "query",
  "headers",
  "cookies",
  "body",
  "user_agent",
  "method",
  "ip",
] as const
export type WafTarget = (typeof wafTargets)[number]
export const wafMatches = ["regex", "contains", "prefix", "cidr"] as const
export type WafMatch = (typeof wafMatches)[number]
export const wafActions = ["block", "log", "allow"] as const
export type WafAction = (typeof wafActions)[number]

const PRIORITY_DEFAULT = 100

const LoadBalancerId = Nullable(T.String({ format: "uuid" }), {
  description: "Load balancer whose requests it judges; null: those of every one of the project",
})

const ruleInput = {
  pattern: T.String({
    minLength: 1,
    maxLength: WAF_PATTERN_LENGTH_MAX,
    description:
      "What is looked for, as `match` says. A regular expression has the syntax of RE2, which has no look-around and no " +
      "back-references; `(?i)` at its beginning ignores case",
  }),
  action: T.Unsafe<WafAction>(
    T.String({
      enum: [...wafActions],
      [FIELD_FAULT]: "unsupported_waf_rule",
      description:
        "`block`: the request gets 403; `log`: it is recorded and goes on; `allow`: it goes on, and later rules are not asked",
    }),
  ),
  name: T.Optional(Name),
  match: T.Optional(
    OneOf(wafMatches, {
      default: "regex",
      description:
        "`regex`: a regular expression found anywhere; `contains`, `prefix`: text, in either case; `cidr`: the address of the " +
        "client, in a range such as `203.0.113.0/24`",
    }),
  ),
  targets: T.Optional(
    T.Array(OneOf(wafTargets), {
      minItems: 1,
      maxItems: wafTargets.length,
      uniqueItems: true,
      description:
        "Where it is looked for, as sent and as decoded. `headers` are lines such as `x-one: 1` with lower-case names; `cookies` " +
        "are pairs such as `a=1`; `body` is its first 128 KiB. Path, query, headers, cookies and body unless given; `ip` for `cidr`",
    }),
  ),
  priority: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 1_000,
      default: PRIORITY_DEFAULT,
      description: "Rules are asked from the smallest to the largest; of equals the older one first",
    }),
  ),
  enabled: T.Optional(T.Boolean({ default: true, description: "False: it is kept and not asked" })),
  load_balancer_id: T.Optional(LoadBalancerId),
}

const Rule = T.Object({
  id: Id,
  project_id: Id,
  name: T.String({ description: "Its pattern, unless it was given one" }),
  pattern: T.String({ description: "What is looked for" }),
  match: OneOf(wafMatches, { description: "How the pattern is read" }),
  targets: T.Array(OneOf(wafTargets), { description: "Parts of the request in which it is looked for" }),
  action: OneOf(wafActions, { description: "What becomes of a request that matches" }),
  priority: T.Integer({ description: "Rules are asked from the smallest to the largest" }),
  enabled: T.Boolean({ description: "False: it is not asked" }),
  load_balancer_id: LoadBalancerId,
  created_at: Time,
  updated_at: Time,
})

const Event = T.Object({
  id: Id,
  timestamp: Time,
  source: OneOf(["custom", "ddos"], {
    description: "`custom`: a rule of the project; `ddos`: the limit of requests of an address or network",
  }),
  action: OneOf(["block", "log", "rate_limit", "ban"], {
    description:
      "What was done. Where the load balancer only detects, it is `log` whatever the rule or limit says",
  }),
  rule_id: Nullable(T.String(), { description: "Rule that matched; null for a limit" }),
  rule_name: Nullable(T.String(), { description: "Its name then; null for a limit" }),
  client_ip: T.String({ description: "Address of the client" }),
  method: T.String({ description: "Method of the request" }),
  host: T.String({ description: "Host that the request was for" }),
  path: T.String({ description: "Without the query" }),
  matched_target: T.String({
    description:
      "Part that matched, such as `query` or `header:user-agent`; `address` or `network` for a limit; `time` where judging took too long",
  }),
  matched_value: T.String({
    description:
      "What matched: its first 4 and last 2 characters where it has more than 12, and nothing of secrets",
  }),
  request_id: T.String({ description: "The client got it as `X-Request-Id` where it was refused" }),
  load_balancer_id: T.String({ description: "Load balancer that the request was for" }),
})

const count = (description: string) => T.Integer({ description })
const Named = T.Object({ id: Id })

export const waf = area(
  "waf",
  {
    title: "Firewall",
    summary:
      "Rules that block, log or allow requests to load balancers, limits of requests, and what they met",
    project: "required",
    belongs: "project",
  },
  {
    listRules: {
      id: "listWafRules",
      http: "GET /v1/waf/rules",
      summary: "List firewall rules in the order in which they are asked",
      scope: "waf:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Rule) },
    },
    createRule: {
      id: "createWafRule",
      http: "POST /v1/waf/rules",
      summary: "Create a firewall rule",
      description:
        "It takes effect at once, at load balancers whose `waf_enabled` is true. A pattern that cannot be run in linear time, and an " +
        "action that is not enforced, such as a captcha, are refused.",
      scope: "waf:write",
      effect: "write",
      body: T.Object(ruleInput),
      replies: { 200: Rule },
      faults: ["unsupported_waf_rule", "load_balancer_unknown", "invalid_parameter"],
      example: { name: "no scanners", pattern: "(?i)sqlmap|nikto", action: "block", targets: ["user_agent"] },
    },
    updateRule: {
      id: "updateWafRule",
      http: "PUT /v1/waf/rules/{id}",
      summary: "Replace a firewall rule",
      description: "Fields that are left out get their defaults.",
      scope: "waf:write",
      effect: "write",
      params: Named,
      body: T.Object(ruleInput),
      replies: { 200: Rule },
      faults: ["rule_not_found", "unsupported_waf_rule", "load_balancer_unknown"],
      example: { pattern: "/admin", match: "prefix", targets: ["path"], action: "block" },
    },
    deleteRule: {
      id: "deleteWafRule",
      http: "DELETE /v1/waf/rules/{id}",
      summary: "Delete a firewall rule",
      scope: "waf:write",
      effect: "destroy",
      risk: "high",
      params: Named,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["rule_not_found"],
    },
    listEvents: {
      id: "listWafEvents",
      http: "GET /v1/waf/events",
      summary: "List requests that rules or limits met",
      description: `Newest first. The last ${WAF_EVENTS_KEPT} of a project are kept, for ${WAF_EVENT_DAYS} days.`,
      scope: "waf:read",
      effect: "read",
      query: T.Object({
        cursor: T.Optional(T.String({ format: "uuid", description: "`cursor` of the page before" })),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: WAF_EVENTS_PAGE_MAX,
            default: WAF_EVENTS_PAGE_MAX,
            description: "Largest number of events on a page",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          events: T.Array(Event, { description: "Newest first" }),
          cursor: Nullable(T.String(), { description: "Asks for older ones; null at the end" }),
        }),
      },
    },
    stats: {
      id: "getWafStats",
      http: "GET /v1/waf/stats",
      summary: "Count requests by what the firewall did",
      scope: "waf:read",
      effect: "read",
      replies: {
        200: T.Object({
          window_seconds: count("How far back the counters reach"),
          requests_total: count("Requests that were judged"),
          blocked_total: count("Requests that a rule refused"),
          logged_total: count("Requests that went on though a rule or limit met them"),
          allowed_total: count("Requests that a rule let through"),
          events_dropped_total: count("Events that were not kept because too many came at once"),
          by_rule: T.Array(
            T.Object({
              rule_id: T.String({ description: "Rule, which may be deleted since" }),
              matches: count("Requests that it matched"),
            }),
            { description: "Rules that matched, those with most matches first" },
          ),
          by_category: T.Object(
            {
              custom: count("Matches of rules of the project"),
              ddos: count("Requests over a limit, or of banned addresses"),
            },
            { description: "Matches by what met them" },
          ),
          ddos: T.Object(
            {
              tracked_ips: count("Addresses that the answering process counts now"),
              rate_limited_total: count("Requests that were refused because of their number"),
              banned_ips: count(
                "Addresses that the answering process refuses now, because they went on after they were limited",
              ),
            },
            { description: "The limits of requests" },
          ),
        }),
      },
    },
  },
)
