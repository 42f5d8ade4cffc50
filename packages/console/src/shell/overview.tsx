/** The first page: what is there, what waits for somebody, what to do first, and how the areas are. */
import { call } from "../api.ts"
import { send } from "../calls.ts"
import { bytesOf } from "../derived/labels.ts"
import { allAreas, allOperations, areaOf } from "../derived/manifest.ts"
import type { Surroundings } from "../derived/request.ts"
import { root } from "../root.ts"
import { href } from "../router.ts"
import type { Project, Session } from "../session.ts"
import { createStore, remember, remembered } from "../store.ts"
import { useLoaded } from "../ui/load.ts"
import { Prose } from "../ui/text.tsx"
import { Tile } from "../ui/tile.tsx"
import { Status } from "../ui/value.tsx"
import { GROUPS } from "./groups.ts"

interface ServiceRow {
  readonly name: string
  readonly title: string
  readonly status: string
  readonly reason: string | null
  readonly setting: string | null
}

const loadServices = async (): Promise<readonly ServiceRow[]> => {
  const { status, json } = await send(
    { method: "GET", path: "/api/v1/services", headers: {} },
    { quiet: true },
  )
  if (status !== 200) throw new Error(`The state of the areas cannot be read (${status}).`)
  return (json as { data: { services: ServiceRow[] } }).data.services
}

interface Numbers {
  readonly waiting?: number | undefined
  readonly databases?: number | undefined
  readonly buckets?: number | undefined
  readonly objects?: number | undefined
  readonly bytes?: number | undefined
  readonly keys?: number | undefined
  readonly hasAgent?: boolean | undefined
  readonly mails?: number | undefined
  readonly requests?: number | undefined
  readonly errors?: number | undefined
}

interface Listed<Row> {
  readonly data: readonly Row[]
  readonly total: number
}

/** What this person may not see, or an engine that is down, leaves a dash and not an empty page. */
const loadNumbers = async (surroundings: Surroundings): Promise<Numbers> => {
  const ask = <Payload,>(id: string, fields: Readonly<Record<string, unknown>> = {}) =>
    call<Payload>(id, fields, surroundings, { quiet: true }).catch(() => undefined)
  const [approvals, databases, buckets, keys, inbox, usage] = await Promise.all([
    ask<Listed<unknown>>("listApprovals", { status: "pending", limit: 1 }),
    ask<Listed<unknown>>("listDatabases", { limit: 1 }),
    ask<Listed<{ readonly object_count: number; readonly size_bytes: number }>>("listBuckets", {
      limit: 200,
    }),
    ask<Listed<{ readonly require_approval: boolean }>>("listKeys", { status: "active", limit: 200 }),
    ask<Listed<unknown>>("listEmailInbox", { limit: 1 }),
    ask<{ readonly requests: { readonly total: number; readonly errors: number } }>("getUsageSummary"),
  ])
  return {
    waiting: approvals?.total,
    databases: databases?.total,
    buckets: buckets?.total,
    objects: buckets?.data.reduce((sum, { object_count }) => sum + object_count, 0),
    bytes: buckets?.data.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    keys: keys?.total,
    hasAgent: keys?.data.some(({ require_approval }) => require_approval),
    mails: inbox?.total,
    requests: usage?.requests.total,
    errors: usage?.requests.errors,
  }
}

const shown = (value: number | undefined): string => (value === undefined ? "–" : value.toLocaleString("en"))

const Tiles = ({ numbers }: { readonly numbers: Numbers }) => (
  <ul className="tiles">
    <Tile title="Approvals" note={numbers.waiting ? "wait for you" : "nothing waits"} to={href("approvals")}>
      {shown(numbers.waiting)}
    </Tile>
    <Tile title="Databases" to={href("sql")}>
      {shown(numbers.databases)}
    </Tile>
    <Tile
      title="Files"
      note={
        numbers.bytes === undefined
          ? undefined
          : `${bytesOf(numbers.bytes)} in ${shown(numbers.buckets)} buckets`
      }
      to={href("files")}
    >
      {shown(numbers.objects)}
    </Tile>
    <Tile title="Keys" note="active" to={href("keys")}>
      {shown(numbers.keys)}
    </Tile>
    <Tile title="Mails" note="caught, not sent" to={href("mailbox")}>
      {shown(numbers.mails)}
    </Tile>
    <Tile
      title="Requests"
      note={numbers.errors === undefined ? undefined : `this month, ${shown(numbers.errors)} errors`}
      to={href("usage")}
    >
      {shown(numbers.requests)}
    </Tile>
  </ul>
)

/** What people do first; each ticks itself from what is there. */
const STEPS: readonly {
  readonly title: string
  readonly text: string
  readonly path: string
  readonly isDone: (numbers: Numbers) => boolean
}[] = [
  {
    title: "Run a query",
    text: "The project's database is made by the first one.",
    path: "sql",
    isDone: ({ databases = 0 }) => databases > 0,
  },
  {
    title: "Upload a file",
    text: "Make a bucket, drop files, share one by a link.",
    path: "files",
    isDone: ({ objects = 0 }) => objects > 0,
  },
  {
    title: "Send a mail",
    text: "Here it is caught in the mailbox.",
    path: "api/sendRawEmail",
    isDone: ({ mails = 0 }) => mails > 0,
  },
  {
    title: "Let an agent in",
    text: "Its key asks you before it does what is high-risk.",
    path: "keys?new=1",
    isDone: ({ hasAgent = false }) => hasAgent,
  },
]

const isHidden = createStore(remembered("steps") === "hidden")

const stepHref = (path: string): string => {
  const [page = "", query = ""] = path.split("?")
  return href(page, Object.fromEntries(new URLSearchParams(query)))
}

const Steps = ({ numbers }: { readonly numbers: Numbers }) => {
  const hidden = isHidden.use()
  if (hidden || STEPS.every(({ isDone }) => isDone(numbers))) return null
  return (
    <section aria-label="First steps">
      <div className="head steps-head">
        <h2>First steps</h2>
        <button
          type="button"
          className="quiet small"
          onClick={() => {
            isHidden.set(true)
            remember("steps", "hidden")
          }}
        >
          Hide
        </button>
      </div>
      <ul className="cards">
        {STEPS.map(({ title, text, path, isDone }) => (
          <li key={title}>
            <a href={stepHref(path)}>
              <strong>
                {title}
                {isDone(numbers) && <span className="status good"> ✓ done</span>}
              </strong>
              <span>{text}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The server's list has names of its own for some. */
const areaOfRow = ({ name, title }: Pick<ServiceRow, "name" | "title">) =>
  areaOf(name) ?? allAreas().find(area => area.title === title)

const AreaLink = ({ name, title }: { readonly name: string; readonly title: string }) => {
  const area = areaOfRow({ name, title })
  return area ? <a href={href(`areas/${area.name}`)}>{area.title}</a> : title
}

const Troubles = ({ rows }: { readonly rows: readonly ServiceRow[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table" tabIndex={0} aria-label="Areas that do not work in full">
    <table>
      <thead>
        <tr>
          <th scope="col">Area</th>
          <th scope="col">State</th>
          <th scope="col">Why, and what changes it</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, title, status, reason, setting }) => (
          <tr key={name}>
            <td>
              <AreaLink name={name} title={title} />
            </td>
            <td>
              <Status text={status} />
            </td>
            <td className="wide">
              {reason ? <Prose text={reason} /> : <span className="none">–</span>}{" "}
              {setting && <code>{setting}</code>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Working = ({ rows }: { readonly rows: readonly ServiceRow[] }) => {
  const groupOf = (row: ServiceRow) => areaOfRow(row)?.group ?? "More"
  return (
    <dl className="working">
      {GROUPS.map(group => {
        const own = rows.filter(row => groupOf(row) === group)
        return own.length === 0 ? null : (
          <div key={group}>
            <dt className="soft small">{group}</dt>
            {own.map(({ name, title }) => (
              <dd key={name}>
                <span className="status good" aria-hidden="true">
                  <span>●</span>
                </span>{" "}
                <AreaLink name={name} title={title} />
              </dd>
            ))}
          </div>
        )
      })}
    </dl>
  )
}

const Areas = () => {
  const services = useLoaded("services", loadServices)
  if (services.state === "loading") return <p className="soft">Loading …</p>
  if (services.state === "failed") return <p className="notice bad">{services.reason}</p>
  const working = services.value.filter(({ status }) => status === "available")
  const others = services.value.filter(({ status }) => status !== "available")
  return (
    <>
      {others.length > 0 && (
        <>
          <h2>Not working in full</h2>
          <Troubles rows={others} />
        </>
      )}
      <h2>Available</h2>
      <Working rows={working} />
    </>
  )
}

export const Overview = ({
  session,
  project,
}: {
  readonly session: Session
  readonly project: Project | undefined
}) => {
  const surroundings = { organization: session.organization.id, project: project?.id }
  const numbers = useLoaded(`numbers ${project?.id}`, () => loadNumbers(surroundings))
  return (
    <>
      <h1>Overview</h1>
      <p className="lead">
        {session.organization.name}
        {project && <> · project {project.name}</>}
        {session.organization.plan && <> · plan {session.organization.plan}</>}
      </p>
      <Tiles numbers={numbers.state === "ready" ? numbers.value : {}} />
      {numbers.state === "ready" && <Steps numbers={numbers.value} />}
      <Areas />
      <p className="soft small">
        <a href={`${root}/docs`} target="_blank" rel="noreferrer">
          API reference
        </a>{" "}
        ·{" "}
        <a href={`${root}/docs/errors`} target="_blank" rel="noreferrer">
          Errors
        </a>{" "}
        · {allOperations().length} operations, each with a page here
      </p>
    </>
  )
}
