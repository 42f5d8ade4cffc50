/** An area for tests alone: operations of every kind that the kernel treats differently. */
import { area, T } from "@svc/contract"
import { defineModule } from "../kernel/area.ts"
import { fault } from "../kernel/fault.ts"
import { implement } from "../kernel/implement.ts"

const Echo = T.Object({ text: T.String({ maxLength: 100 }) })

export const probe = area(
  "probe",
  { title: "Probe", summary: "Operations that only tests call", project: "optional", belongs: "project" },
  {
    danger: {
      id: "probeDanger",
      http: "POST /v1/probe/danger",
      summary: "Do something that a person must approve",
      scope: "kv:write",
      effect: "destroy",
      risk: "high",
      body: T.Object({
        text: T.String(),
        fail: T.Optional(T.Boolean()),
        value: T.Optional(T.Unknown()),
      }),
      replies: { 200: T.Object({ text: T.String(), value: T.Optional(T.Unknown()) }) },
      faults: ["conflict"],
    },
    inProject: {
      id: "probeInProject",
      http: "GET /v1/probe/project",
      summary: "Tell the project that the call is in",
      scope: "kv:read",
      effect: "read",
      project: "required",
      replies: { 200: T.Object({ owner: T.String() }) },
    },
    tenant: {
      id: "probeTenant",
      http: "GET /v1/probe/{tenant_id}/thing",
      summary: "Name a tenant in the path",
      scope: "kv:read",
      effect: "read",
      params: T.Object({ tenant_id: T.String() }),
      replies: { 200: Echo },
    },
    outside: {
      id: "probeOutside",
      http: "POST /v1/probe/outside",
      summary: "Have an effect outside the database",
      scope: "kv:write",
      effect: "write",
      transaction: "none",
      body: T.Object({ text: T.String(), fail: T.Optional(T.Boolean()) }),
      replies: { 200: Echo },
      faults: ["conflict"],
    },
    open: {
      id: "probeOpen",
      http: "POST /v1/probe/open",
      summary: "Be called by any page in a browser",
      scope: "publishable",
      effect: "read",
      body: T.Object({ text: T.String() }),
      replies: { 200: Echo },
    },
    upload: {
      id: "probeUpload",
      http: "PUT /v1/probe/folders/{folder}/files/{name}",
      summary: "Send bytes under a name with slashes",
      scope: "kv:write",
      effect: "write",
      audit: "rollup",
      rest: true,
      crossOrigin: true,
      content: { request: "bytes" },
      params: T.Object({ folder: T.String(), name: T.String() }),
      replies: { 200: T.Object({ folder: T.String(), name: T.String(), bytes: T.Integer() }) },
    },
    download: {
      id: "probeDownload",
      http: "GET /v1/probe/bytes",
      summary: "Receive bytes",
      scope: "kv:read",
      effect: "read",
      content: { reply: "bytes" },
      replies: { 200: T.Unknown() },
    },
    look: {
      id: "probeLook",
      http: "HEAD /v1/probe/bytes",
      summary: "Receive the headers of those bytes",
      scope: "kv:read",
      effect: "read",
      query: T.Object({ missing: T.Optional(T.Boolean()) }),
      replies: { 200: null },
      faults: ["object_not_found"],
    },
    broken: {
      id: "probeBroken",
      http: "POST /v1/probe/broken",
      summary: "Throw what no handler should",
      scope: "kv:write",
      effect: "write",
      body: T.Object({}),
      replies: { 200: Echo },
    },
  },
)

/** What the handlers did, in order: a test sees effects without looking into the database. */
export const createProbeArea = (effects: string[], wait: () => Promise<void> = async () => undefined) => {
  const handlers = implement(probe, () => ({
    async danger({ text, fail, value }) {
      if (fail) throw fault("conflict")
      effects.push(text)
      return { text, ...(value !== undefined && { value }) }
    },
    inProject: (_input, { owner }) => ({ owner }),
    tenant: ({ tenant_id }) => ({ text: tenant_id }),
    outside: async ({ text, fail }) => {
      await wait()
      effects.push(text)
      if (fail) throw fault("conflict")
      return { text }
    },
    open: ({ text }) => ({ text }),
    async upload({ folder, name }, { stream }) {
      let bytes = 0
      for await (const chunk of stream) {
        bytes += chunk.length
        effects.push(`${bytes} bytes`)
      }
      return { folder, name, bytes }
    },
    download(_input, { setHeader }) {
      setHeader("content-type", "text/x-probe")
      return Buffer.from("these bytes")
    },
    look({ missing }, { setHeader }) {
      if (missing) throw fault("object_not_found")
      setHeader("content-length", "11")
    },
    broken: async () => {
      throw new Error("the internal text that must not leave the server")
    },
  }))
  return defineModule({
    name: "probe",
    title: "Probe",
    contract: [probe],
    needs: {},
    load: async () => ({ start: () => ({ operations: handlers({}) }) }),
  })
}
