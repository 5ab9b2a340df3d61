/**
 * The page in a real browser, one for all rules. Against scripted data but where it says otherwise. Rules that a unit test or
 * another of them has in part, and the one on a real fleet, are in `npm run test:monitor` only.
 */
import { describe } from 'vitest';
import { needs } from '../../../holdfast/test/support/needs.ts';
import { useChildren } from '../../../holdfast/test/support/processes/child.ts';
import { actionRules } from './rules/actions.ts';
import { pageRules } from './rules/pages.ts';
import { pictureRules } from './rules/pictures.ts';
import { realRules } from './rules/real.ts';
import { stateRules } from './rules/states.ts';
import { streamRules } from './rules/stream.ts';
import { tableRules } from './rules/table.ts';
import { usePageBench } from './support/bench.ts';
import { hasBrowser } from './support/browser.ts';

const isThere = needs('chromium', hasBrowser(), "the monitor's page in a browser");

describe.runIf(isThere)('the page in a browser', () => {
  const bench = usePageBench();
  useChildren();
  describe('the table of locks', () => tableRules(bench));
  describe('other pages', () => pageRules(bench));
  describe('states', () => stateRules(bench));
  describe('after a cut', () => streamRules(bench));
  describe('actions', () => actionRules(bench));
  describe('a real fleet', () => realRules(bench));
  describe('pictures', () => pictureRules(bench));
});
