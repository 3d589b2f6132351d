/** The console: one page that shows what standing queries answer. */

import { render } from "preact";

import { keepAnswering } from "./answer.ts";
import { keepRefreshing } from "./catalogue.ts";
import { takeFiles } from "./files/drop.tsx";
import { Shell, applyTheme, keepTitle } from "./shell.tsx";
import { keepChecking, leaveNoDraft, openPlaces, seeReplacements } from "./workspace.ts";
import "uplot/dist/uPlot.min.css";
import "./style.css";

applyTheme();
keepTitle();
render(<Shell />, document.getElementById("console")!);
takeFiles();
void keepRefreshing();
keepChecking();
keepAnswering();
openPlaces();
leaveNoDraft();
seeReplacements();
