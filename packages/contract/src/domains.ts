import { certificateInput, Domain, domainSwitches, TargetInput } from "./domains-fields.ts"
import { area, T } from "./dsl.ts"
import { Id, Nullable, Page, PageQuery } from "./types.ts"

const Named = T.Object({ id: Id })

export const domains = area(
  "domains",
  {
    title: "Domains",
    summary:
      "Host names of your own for run services, deployments, functions, load balancers and sites in buckets",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      extension: true,
      id: "listDomains",
      http: "GET /v1/domains",
      summary: "List custom domains",
      scope: "domains:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Domain) },
    },
    create: {
      extension: true,
      id: "createDomain",
      http: "POST /v1/domains",
      summary: "Add a custom domain",
      description:
        "It is served once one of its `records` is published; these are looked up by themselves for three days, and at once by " +
        "`verify`. Others may add the same domain: it belongs to whoever proves it.",
      scope: "domains:write",
      effect: "write",
      body: T.Object({
        domain: T.String({
          minLength: 4,
          maxLength: 254,
          description: "A host name such as `www.example.com`; not one of this installation",
        }),
        target: T.Optional(TargetInput),
        force_https: T.Optional(domainSwitches.force_https),
        hsts: T.Optional(domainSwitches.hsts),
      }),
      replies: { 200: Domain },
      faults: ["domain_taken", "plan_limit_reached", "invalid_parameter"],
      example: { domain: "www.example.com", force_https: true },
    },
    get: {
      extension: true,
      id: "getDomain",
      http: "GET /v1/domains/{id}",
      summary: "Show a custom domain and its records",
      scope: "domains:read",
      effect: "read",
      params: Named,
      replies: { 200: Domain },
      faults: ["domain_not_found"],
    },
    update: {
      extension: true,
      id: "updateDomain",
      http: "PATCH /v1/domains/{id}",
      summary: "Change how a custom domain treats HTTP",
      description: "Fields that are left out stay as they are.",
      scope: "domains:write",
      effect: "write",
      params: Named,
      body: T.Partial(T.Object(domainSwitches)),
      replies: { 200: Domain },
      faults: ["domain_not_found"],
      example: { hsts: true },
    },
    delete: {
      extension: true,
      id: "deleteDomain",
      http: "DELETE /v1/domains/{id}",
      summary: "Remove a custom domain",
      scope: "domains:write",
      effect: "destroy",
      params: Named,
      replies: {
        200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }),
      },
      faults: ["domain_not_found"],
    },
    verify: {
      extension: true,
      id: "verifyDomain",
      http: "POST /v1/domains/{id}/verify",
      summary: "Look up the records of a custom domain now",
      description:
        "Where another project has the domain, its records are looked up as well: it loses the domain if they are gone.",
      scope: "domains:write",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      params: Named,
      replies: { 200: Domain },
      faults: ["domain_not_found", "domain_taken"],
    },
    setTarget: {
      extension: true,
      id: "setDomainTarget",
      http: "PUT /v1/domains/{id}/target",
      summary: "Point a custom domain at something else",
      description:
        "Takes the scope to change the target as well, because it becomes public: `services:deploy`, `functions:deploy`, " +
        "`lb:write` or `storage:write`. All objects of a bucket can be read then; a function must be public.",
      scope: "domains:write",
      effect: "write",
      idempotency: "natural",
      params: Named,
      body: T.Object({
        target: Nullable(TargetInput, { description: "Where requests go; null for nowhere" }),
      }),
      replies: { 200: Domain },
      faults: ["domain_not_found", "invalid_parameter"],
      example: { target: { type: "bucket", id: "site", site: { spa: true } } },
    },
    setCertificate: {
      extension: true,
      id: "setDomainCertificate",
      http: "POST /v1/domains/{id}/certificate",
      summary: "Have a certificate issued, or upload one",
      description:
        "It takes the place of the one before without a connection lost. Where the installation names an authority, an active " +
        "domain gets a certificate by itself.",
      scope: "domains:write",
      effect: "write",
      params: Named,
      body: T.Object(certificateInput),
      replies: { 200: Domain },
      faults: ["domain_not_found", "invalid_parameter", "not_implemented"],
      example: { source: "acme" },
    },
  },
)
