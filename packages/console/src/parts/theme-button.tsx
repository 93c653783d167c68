import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const STORE = "bulrush-theme";

function stored(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(STORE)) ?? "system";
}

/** Goes through the themes; the system's is the first. */
export function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(STORE, theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <button type="button" onClick={() => setTheme(next)} aria-label={`Colours: ${theme}. Change to ${next}`}>
      {theme === "system" ? "System colours" : theme === "light" ? "Light" : "Dark"}
    </button>
  );
}
