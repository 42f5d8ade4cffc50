import { allAreas } from "../derived/manifest.ts"
import type { AreaRow } from "../model.ts"
import { href } from "../router.ts"
import { type Screen, screens } from "../screens/screens.ts"
import { createStore, remember, remembered } from "../store.ts"
import { GROUPS } from "./groups.ts"

const folded = createStore<ReadonlySet<string>>(new Set((remembered("folded") ?? "").split(",")))

const fold = (group: string, isOpen: boolean): void => {
  const next = new Set(folded.get())
  if (isOpen) next.delete(group)
  else next.add(group)
  folded.set(next)
  remember("folded", [...next].filter(name => name !== "").join(","))
}

/** The area that this address is in. */
export type Current = "overview" | { readonly area: AreaRow } | { readonly screen: Screen } | undefined

const Item = ({
  path,
  text,
  isCurrent,
}: {
  readonly path: string
  readonly text: string
  readonly isCurrent: boolean
}) => (
  <li>
    <a href={href(path)} aria-current={isCurrent ? "page" : undefined}>
      {text}
    </a>
  </li>
)

export const Nav = ({ current }: { readonly current: Current }) => {
  const closed = folded.use()
  const isIn = (place: AreaRow | Screen) =>
    typeof current === "object" && ("area" in current ? current.area : current.screen) === place
  return (
    <nav aria-label="Areas">
      <ul>
        <Item path="" text="Overview" isCurrent={current === "overview"} />
      </ul>
      {GROUPS.map(group => {
        const areas = allAreas().filter(area => area.group === group)
        const own = screens.filter(screen => screen.group === group)
        if (areas.length + own.length === 0) return null
        return (
          <details
            key={group}
            open={!closed.has(group) || [...areas, ...own].some(isIn)}
            onToggle={event => fold(group, event.currentTarget.open)}
          >
            <summary>{group}</summary>
            <ul>
              {own.map(screen => (
                <Item key={screen.path} path={screen.path} text={screen.title} isCurrent={isIn(screen)} />
              ))}
              {areas.map(area => (
                <Item key={area.name} path={`areas/${area.name}`} text={area.title} isCurrent={isIn(area)} />
              ))}
            </ul>
          </details>
        )
      })}
    </nav>
  )
}
