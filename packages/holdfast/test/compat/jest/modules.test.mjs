import * as holdfast from 'holdfast';
import * as testing from 'holdfast-testing';
import * as ioredis from 'ioredis';
import { defineRules } from './rules.cjs';

defineRules(holdfast, testing, ioredis);
