/** API keys: made from templates, rotated, revoked. */
import { useState } from "react"
import { call } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { href, setQuery } from "../../router.ts"
import { Ask } from "../../ui/ask.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { Status, Time } from "../../ui/value.tsx"
import type { ScreenProps } from "../props.ts"
import { type Made, MakeKey, Secret } from "./make.tsx"
import type { Scope } from "./templates.ts"

interface Key {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly prefix: string
  readonly scopes: readonly string[]
  readonly project_id: string | null
  readonly read_only: boolean
  readonly require_approval: boolean
  readonly status: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly grace_expires_at: string | null
}

const load = async (surroundings: Surroundings) => {
  const [keys, scopes] = await Promise.all([
    call<{ readonly data: readonly Key[] }>("listKeys", { limit: 200 }, surroundings, { quiet: true }),
    call<{ readonly scopes: readonly Scope[] }>("listScopes", {}, surroundings, { quiet: true }),
  ])
  return { keys: keys.data, scopes: scopes.scopes }
}

const mayOf = ({ type, scopes, read_only, require_approval }: Key): string => {
  const what =
    type === "full_access"
      ? "everything"
      : type === "publishable"
        ? "what a web page may"
        : scopes.length <= 3
          ? scopes.join(", ")
          : `${scopes.length} scopes`
  return [what, ...(read_only ? ["only reads"] : []), ...(require_approval ? ["asks first"] : [])].join(" · ")
}

type Action = { readonly kind: "rotate" | "revoke"; readonly key: Key }

const Row = ({
  row,
  isOfProject,
  onAction,
}: {
  readonly row: Key
  readonly isOfProject: boolean
  readonly onAction: (action: Action) => void
}) => {
  const isLive = row.status === "active" || row.status === "rotating"
  return (
    <tr className={isLive ? undefined : "past"}>
      <td>
        <a href={href("api/getKey", { "f.id": row.id })}>{row.name}</a>
        <br />
        <code className="soft">{row.prefix}…</code>
      </td>
      <td>
        <Status text={row.status} />
      </td>
      <td title={row.scopes.join(", ")}>{mayOf(row)}</td>
      <td>{row.project_id === null ? "organization" : isOfProject ? "this project" : "another project"}</td>
      <td>{row.last_used_at ? <Time time={row.last_used_at} /> : <span className="none">never</span>}</td>
      <td>
        {row.grace_expires_at ? (
          <>
            old secret ends <Time time={row.grace_expires_at} />
          </>
        ) : row.expires_at ? (
          <Time time={row.expires_at} />
        ) : (
          <span className="none">never</span>
        )}
      </td>
      <td className="actions">
        {isLive && (
          <>
            {row.status === "active" && (
              <button
                type="button"
                className="quiet small"
                aria-label={`Rotate ${row.name}`}
                onClick={() => onAction({ kind: "rotate", key: row })}
              >
                Rotate
              </button>
            )}{" "}
            <button
              type="button"
              className="quiet small"
              aria-label={`Revoke ${row.name}`}
              onClick={() => onAction({ kind: "revoke", key: row })}
            >
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

const HEADS = ["Key", "State", "May", "Reaches", "Last used", "Ends"]

const Table = ({
  keys,
  project,
  onAction,
}: {
  readonly keys: readonly Key[]
  readonly project: string | undefined
  readonly onAction: (action: Action) => void
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table" tabIndex={0} aria-label="Keys">
    <table>
      <thead>
        <tr>
          {HEADS.map(head => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
          <th scope="col">
            <span className="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map(row => (
          <Row key={row.id} row={row} isOfProject={row.project_id === project} onAction={onAction} />
        ))}
      </tbody>
    </table>
  </section>
)

const Confirm = ({
  action: { kind, key },
  onYes,
  onNo,
}: {
  readonly action: Action
  readonly onYes: () => void
  readonly onNo: () => void
}) =>
  kind === "rotate" ? (
    <Ask title={`Rotate ${key.name}?`} verb="Rotate" onYes={onYes} onNo={onNo}>
      <p>A new secret is made. The old one works for another day, so that programs can change over.</p>
    </Ask>
  ) : (
    <Ask title={`Revoke ${key.name}?`} verb="Revoke" typed={key.name} onYes={onYes} onNo={onNo}>
      <p>
        Whatever uses it is refused from now on.{" "}
        {key.last_used_at ? (
          <>
            It was last used <Time time={key.last_used_at} />.
          </>
        ) : (
          "It was never used."
        )}
      </p>
    </Ask>
  )

export const KeysPage = ({ surroundings, query }: ScreenProps) => {
  const [version, setVersion] = useState(0)
  const [made, setMade] = useState<Made>()
  const [action, setAction] = useState<Action>()
  const [error, setError] = useState<unknown>()
  const loaded = useLoaded(`keys ${version}`, () => load(surroundings))
  const isMaking = query.has("new")
  const hasPast = query.has("past")
  const reload = () => setVersion(known => known + 1)
  const act = async ({ kind, key }: Action) => {
    setAction(undefined)
    setError(undefined)
    try {
      const done = await call<Made>(
        kind === "rotate" ? "rotateKey" : "revokeKey",
        { id: key.id },
        surroundings,
      )
      if (kind === "rotate") setMade(done)
    } catch (refused) {
      setError(refused)
    }
    reload()
  }
  const keys = loaded.state === "ready" ? loaded.value.keys : []
  const shown = keys.filter(({ status }) => hasPast || status === "active" || status === "rotating")
  return (
    <>
      <div className="head">
        <h1>Keys</h1>
        <label className="tick">
          <input
            type="checkbox"
            checked={hasPast}
            onChange={event => setQuery({ past: event.target.checked ? "1" : null })}
          />
          Show ended ones
        </label>
        {!isMaking && (
          <button type="button" onClick={() => setQuery({ new: "1" })}>
            New key
          </button>
        )}
      </div>
      {made?.secret && <Secret secret={made.secret} name={made.name} />}
      <Problem error={error} />
      {isMaking && loaded.state === "ready" && (
        <MakeKey
          scopes={loaded.value.scopes}
          surroundings={surroundings}
          onClose={() => setQuery({ new: null })}
          onMade={done => {
            setMade(done)
            setQuery({ new: null })
            reload()
          }}
        />
      )}
      {loaded.state === "loading" && <p className="soft">Loading …</p>}
      <Problem error={loaded.state === "failed" ? loaded.reason : undefined} />
      {shown.length > 0 && <Table keys={shown} project={surroundings.project} onAction={setAction} />}
      {loaded.state === "ready" && shown.length === 0 && (
        <div className="empty">
          <p>
            <strong>No key that works.</strong> A program sends a key with each request; it says what the
            program may do.
          </p>
        </div>
      )}
      {action && <Confirm action={action} onNo={() => setAction(undefined)} onYes={() => void act(action)} />}
    </>
  )
}
